import path from "node:path";
import { type Clock, isoTime } from "../lib/clock.ts";
import { makeFolder, removeIfPossible, removeIfPresent, syncFolder } from "../lib/durable.ts";
import type { Processes } from "../lib/processes.ts";
import { randomDigits } from "../lib/random-digits.ts";
import type { Intent } from "../task/intent.ts";
import type { TaskEvent } from "../task/lifecycle.ts";
import type { TaskRecord } from "../task/record.ts";
import type { DoneTasks } from "./done-tasks.ts";
import { usingStateFolder } from "./errors.ts";
import { openName, timeOfId } from "./ledger-name.ts";
import type { OwnedTask, TaskClaim } from "./owners.ts";
import { keepReserve, releaseReserve } from "./reserve-file.ts";
import { LEDGER_VERSION, TaskFile } from "./task-file.ts";

const NOT_BEGUN =
  "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.";

type IntentEvent = Extract<TaskEvent, { type: "intent" }>;

/** Begins tasks: their intents are on disk before anything is sent. */
export class TaskStarter {
  /** Of all tasks. */
  readonly #folder: string;
  readonly #openFolder: string;
  readonly #done: Pick<DoneTasks, "has">;
  readonly #clock: Pick<Clock, "now">;
  readonly #processes: Pick<Processes, "self">;

  constructor(
    folder: string,
    done: Pick<DoneTasks, "has">,
    clock: Pick<Clock, "now">,
    processes: Pick<Processes, "self">,
  ) {
    this.#folder = folder;
    this.#openFolder = path.join(folder, "open");
    this.#done = done;
    this.#clock = clock;
    this.#processes = processes;
  }

  /** As `Ledger.newId`. */
  newId(): string {
    return `${timeOfId(this.#clock.now())}-${randomDigits()}`;
  }

  /** As `Ledger.begin`. */
  async begin(intent: Intent, submitMs: number): Promise<OwnedTask> {
    const id = this.newId();
    return this.#guarded(async () => {
      const line = await this.#intentLine(intent, submitMs);
      return this.#owned(id, line, await TaskFile.create(this.#fileOf(id), line, this.#makeRoom));
    });
  }

  /** As `Ledger.beginAs`. */
  async beginAs(
    id: string,
    intent: Intent,
    claim: TaskClaim | null,
    submitMs: number,
  ): Promise<OwnedTask | "taken"> {
    const isFinished = async () => (claim === null || claim.isShared()) && (await this.#done.has(id));
    // Checked before as well as after, so that a process killed in between does not leave the task begun twice.
    const isFree = async (draft: string) =>
      (claim === null || (await claim.take(draft))) && !(await isFinished());
    return this.#guarded(async () => {
      const line = { ...(await this.#intentLine(intent, submitMs)), id };
      const file = await TaskFile.createWhole(this.#fileOf(id), line, isFree, this.#makeRoom);
      if (file === null) return "taken";
      const task = await this.#owned(id, line, file);
      // It may have been begun, finished and moved to `done` since the last check.
      try {
        if (!(await isFinished())) return task;
      } catch (error) {
        this.withdraw(task);
        throw error;
      }
      this.withdraw(task);
      return "taken";
    });
  }

  /** As `Ledger.withdraw`. */
  withdraw({ file }: OwnedTask): void {
    file.closeIfPossible();
    removeIfPresent(file.path);
  }

  async #intentLine(intent: Intent, submitMs: number): Promise<IntentEvent> {
    await makeFolder(this.#openFolder, 0o700);
    keepReserve(this.#folder);
    const now = this.#clock.now();
    const [at, until] = [isoTime(now), isoTime(now + submitMs)];
    return { type: "intent", v: LEDGER_VERSION, at, owner: this.#processes.self, until, ...intent };
  }

  /** If the name of the new file cannot be synced, the file must not stay: it would look like a request that was sent. */
  async #owned(id: string, line: IntentEvent, file: TaskFile): Promise<OwnedTask> {
    try {
      await syncFolder(this.#openFolder);
    } catch (error) {
      file.closeIfPossible();
      removeIfPossible(file.path);
      throw error;
    }
    const release = async () => file.release(isoTime(this.#clock.now()));
    const { type: _type, v: _v, id: _id, at: submittedAt, owner, until = null, ...intent } = line;
    const record: TaskRecord = { id, intent, owner, submittedAt, state: { name: "intent", until } };
    return { record, file, claimed: false, release };
  }

  #guarded<Begun>(begin: () => Promise<Begun>): Promise<Begun> {
    return usingStateFolder(this.#folder, NOT_BEGUN, begin);
  }

  #fileOf(id: string): string {
    return path.join(this.#openFolder, openName(id));
  }

  readonly #makeRoom = () => releaseReserve(this.#folder);
}
