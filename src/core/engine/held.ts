import { isoTime } from "../../lib/clock.ts";
import { removeIfPossible } from "../../lib/durable.ts";
import { errorCode, errorText } from "../../lib/error-text.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger, OwnedTask } from "../../store/ledger.ts";
import { hasRowOutcome, recordRowBegun } from "../../store/row-claims.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import { mayUseReserve } from "../../store/task-file.ts";
import type { Line } from "../../task/line.ts";
import {
  displayId,
  getCharged,
  getTaskId,
  isResumable,
  STATES,
  type Task,
  type TaskState,
  withLine,
} from "../../task/task.ts";
import { describeWorker, TakenOverError } from "../errors.ts";
import { fallbackFiles } from "./jobs.ts";

const NOT_SUBMITTED = "The request was not submitted again. Free some space or fix the folder's permissions.";

/**
 * A task that this process holds, and the part that it writes. Whoever has lost a task decides nothing about it: no submit,
 * no end, no deletion. What the provider answers to this process's own request is still recorded.
 */
export class HeldTask {
  readonly #ledger: Ledger;
  readonly #owned: OwnedTask;
  readonly #onWarning: (message: string) => void;
  #task: Task;
  #attempts = 0;
  /** Lines that could not be written yet, oldest first; the next write includes them. */
  readonly #unwritten: Line[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Number of jobs that the last warning named; -1 before the first. */
  #warnedJobs = -1;
  #isLost = false;

  constructor(ledger: Ledger, owned: OwnedTask, onWarning: (message: string) => void) {
    this.#ledger = ledger;
    this.#owned = owned;
    this.#task = owned.task;
    this.#onWarning = onWarning;
    this.#attempts = owned.task.requests.reduce((sum, { attempts }) => sum + attempts.length, 0);
  }

  /** The task as its lines add up now. */
  get task(): Task {
    return this.#task;
  }

  /** Charge of the task by its lines so far. */
  get charged(): Charged {
    return getCharged(this.#task);
  }

  get #now(): string {
    return isoTime(this.#ledger.clock.now());
  }

  /** Whether another process has taken the task over, or ended it. @throws StateFolderError if the disk cannot tell */
  get isLost(): boolean {
    try {
      this.#isLost ||= !this.#ledger.hasLastPart(this.#owned);
    } catch (error) {
      throw new StateFolderError(this.#ledger.folder, error);
    }
    return this.#isLost;
  }

  /** The error of a process that has lost the task. It names who has it. */
  async takenOver(): Promise<TakenOverError> {
    const worker = describeWorker(
      await this.#ledger.findWorker(this.#task).catch(() => null),
      this.#ledger.processes.self,
    );
    const name = displayId(this.#task);
    return new TakenOverError(`${worker} has taken over task ${name}.`, {
      charged: this.charged,
      hint: phrase`This process has submitted nothing since. To see what became of it: ${action("history")}`,
    });
  }

  /**
   * Appends a line; it is on the disk when this returns, unless the disk refused it. An answer of a process that has lost the
   * task opens a task again that was ended meanwhile.
   * @returns whether it is on the disk
   */
  async record(line: Line): Promise<boolean> {
    this.#task = withLine(this.#task, line);
    this.#unwritten.push(line);
    const isWritten = await this.#catchUp(mayUseReserve(line));
    // Whether the task is lost by now is not known yet: another process may have taken it over since the submit.
    if (isResumable(this.#task.state))
      await this.#ledger.reopenIfAnswered(this.#task.id).catch((error: unknown) => this.#warn(error));
    return isWritten;
  }

  /**
   * Records that a request is about to be submitted: from here on it counts as sent.
   * @returns the name of the attempt; or why it must not be made: the disk refused the line, another process has the task, or
   * the batch row that it is for has ended
   */
  async start(request: number): Promise<string | ImggenError> {
    const attempt = `${this.#owned.part}.${this.#attempts}`;
    this.#attempts += 1;
    const line: Line<"started"> = { type: "started", at: this.#now, request, attempt };
    try {
      if (this.isLost) return await this.takenOver();
      await this.#writeAll(false);
      if ((await this.#isRowOver()) || this.isLost) return await this.takenOver();
      await this.#owned.file.record(line);
      this.#task = withLine(this.#task, line);
      if (!this.isLost) return attempt;
    } catch (error) {
      // The line may be on the disk nevertheless.
      if (errorCode(error) !== undefined) this.#unwritten.push(this.#notMade(request, attempt));
      return new StateFolderError(this.#ledger.folder, error, { hint: NOT_SUBMITTED });
    }
    await this.record(this.#notMade(request, attempt));
    return this.takenOver();
  }

  #notMade(request: number, attempt: string): Line<"waiting"> {
    return { type: "waiting", at: this.#now, request, attempt, why: "it was not submitted" };
  }

  /** Looks at the claim of the task's batch row before its first request is sent, and marks it. @throws the disk's error */
  async #isRowOver(): Promise<boolean> {
    const { claim, id, requests } = this.#task;
    if (claim === null || requests.some(({ attempts }) => attempts.length > 0)) return false;
    if (await hasRowOutcome(this.#ledger.folder, claim, id)) return true;
    await recordRowBegun(this.#ledger.folder, claim);
    return false;
  }

  /** Whether the user has cancelled the task by a command of another process. @throws StateFolderError */
  isCancelled(): boolean {
    return this.#ledger.cancels.has(this.#task.id);
  }

  /** Calls back, again and again, while the task is marked as cancelled. @returns ends it */
  onCancel(callback: () => void): () => void {
    return this.#ledger.cancels.watch(this.#task.id, callback);
  }

  async #catchUp(isVital: boolean): Promise<boolean> {
    try {
      await this.#writeAll(isVital);
      return true;
    } catch (error) {
      this.#warn(error);
      return false;
    }
  }

  /**
   * @param isVital whether the reserve is released for them: the last one is of no use without those before it
   * @throws the disk's error
   */
  #writeAll(isVital: boolean): Promise<void> {
    // Requests of one task go their own way: of two writes at once, one would take the other's line for written.
    const writing = this.#writing.then(() => this.#writeEach(isVital));
    this.#writing = writing.catch(() => {});
    return writing;
  }

  async #writeEach(isVital: boolean): Promise<void> {
    for (let next = this.#unwritten[0]; next; next = this.#unwritten[0]) {
      await this.#owned.file.record(next, isVital);
      this.#unwritten.shift();
    }
  }

  /** Leaves the task as it stands: filed under the finished ones, or free for the next process. */
  async leave(): Promise<void> {
    const isWritten = await this.#catchUp(true);
    try {
      const isMine = this.#isKnownMine();
      // A task that is not finished on the disk must be found again by `resume`.
      if (isMine && isWritten && !STATES[this.#task.state].isOpen) await this.#end();
      else this.#ledger.release(this.#owned, isMine);
    } catch (error) {
      this.#warn(error);
    }
  }

  /** Whether the disk says that no other process has the task. */
  #isKnownMine(): boolean {
    try {
      return !this.isLost;
    } catch (error) {
      this.#warn(error);
      return false;
    }
  }

  /** Files the task under the finished ones. A reply outside its folder is removed once its images are saved. */
  async #end(): Promise<void> {
    const task = this.#task;
    if (!(await this.#ledger.end(this.#owned, task)) || task.state !== "saved") return;
    for (const [index, { attempts }] of task.requests.entries())
      for (const { name } of attempts)
        for (const file of fallbackFiles(task, index, name)) removeIfPossible(file);
  }

  /** The error of a job whose id could not be written down; null if all lines are on the disk. */
  get unwritten(): ImggenError | null {
    if (this.#unwritten.length === 0) return null;
    const jobs = this.#jobs;
    const what = jobs.length === 0 ? OUTCOMES[this.#task.state] : noted(jobs, getTaskId(this.#task));
    const cause = new Error("the disk refused a record");
    return new StateFolderError(this.#ledger.folder, cause, { hint: what, charged: this.charged });
  }

  get #jobs(): string[] {
    return this.#task.requests.flatMap(({ attempt }) => attempt?.accepted?.id ?? []);
  }

  /** Removes a task of which nothing was sent, as if it had never been begun. @throws StateFolderError */
  async withdraw(): Promise<void> {
    await this.#ledger.withdraw(this.#owned);
  }

  #warn(error: unknown): void {
    const jobs = this.#jobs;
    if (jobs.length <= this.#warnedJobs) return;
    this.#warnedJobs = jobs.length;
    const what = jobs.length === 0 ? OUTCOMES[this.#task.state] : noted(jobs, getTaskId(this.#task));
    this.#onWarning(`The ledger could not be written: ${errorText(error)}. ${what}`);
  }
}

function noted(jobs: readonly string[], taskId: string | null): string {
  const [first] = jobs;
  if (jobs.length === 1 && first === taskId) return `Note this task id: ${first}`;
  return `Note the provider's job id, by which the task can be resumed: ${jobs.join(", ")}`;
}

const OUTCOMES: Readonly<Record<TaskState, string>> = {
  started: "The request may have been sent.",
  accepted: "",
  waiting: "The request was not sent yet.",
  completed: "The image is made.",
  unknown: "The request was sent, and its outcome is not known.",
  dismissed: "The request was dismissed.",
  failed: "The task has failed.",
  cancelled: "The task was cancelled.",
  refused: "The request was refused, and nothing was charged.",
  not_sent: "The request was not sent.",
  saved: "Its images are saved.",
};

/** Takes a task that no living process has. @returns why not */
export async function holdTask(
  task: Task,
  ledger: Ledger,
  onWarning: (message: string) => void,
  server?: string,
): Promise<HeldTask | "held" | "ended"> {
  const owned = await ledger.take(task, server);
  return typeof owned === "string" ? owned : new HeldTask(ledger, owned, onWarning);
}
