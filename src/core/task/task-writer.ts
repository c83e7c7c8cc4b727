import { isoTime } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import type { ProcessIdentity } from "../../lib/processes.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { OwnedTask } from "../../store/owners.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import { mayUseReserve } from "../../store/task-file.ts";
import { STATES, type TaskEvent, type TaskState } from "../../task/lifecycle.ts";
import { chargedOf, type TaskRecord, taskIdOf, withEvent } from "../../task/record.ts";
import { TakenOverError } from "../errors.ts";

/** Room for the disk, and for the clocks of machines that differ. */
const MARGIN_MS = 30_000;

/** For how long a line says that a process has a waiting task in hand: another one may take it over after that. */
export const WAIT_MS = 60_000;

/** For how long a claim covers one attempt to submit. @param submitMs how long one may take */
export function coverMs(submitMs: number): number {
  return submitMs + MARGIN_MS;
}

/**
 * Writes a task's ledger file for its owner. Once the task is charged, a disk error does not end the work on it: the
 * error is reported at once with the task id, and the work continues.
 */
export class TaskWriter {
  readonly #ledger: Ledger;
  readonly #task: OwnedTask;
  readonly #onWarning: (message: string) => void;
  #record: TaskRecord;
  /** Records that could not be written yet, oldest first; the next write includes them. */
  #unwritten: TaskEvent[] = [];
  #complained = false;
  #isTakenOver = false;

  constructor(ledger: Ledger, task: OwnedTask, onWarning: (message: string) => void) {
    this.#ledger = ledger;
    this.#task = task;
    this.#record = task.record;
    this.#onWarning = onWarning;
  }

  /** The ledger's id of the request. */
  get id(): string {
    return this.#record.id;
  }

  /** The task as its lines add up now. */
  get record(): TaskRecord {
    return this.#record;
  }

  /**
   * Appends a record; it is on the disk when this returns, unless the disk refused it.
   * @returns whether it is on the disk
   */
  async write(event: TaskEvent): Promise<boolean> {
    this.#record = withEvent(this.#record, event);
    // On a full disk, a record that may not use the reserve would block the records after it.
    this.#unwritten = [...this.#unwritten.filter(mayUseReserve), event];
    return this.#catchUp();
  }

  /**
   * Records, before an attempt to submit the request, until when it may be on its way, so that another process knows later
   * whether it may have been sent; unless an earlier line does: the intent covers the first attempt.
   * @param submitMs how long the attempt may take
   * @returns why it must not be made, null if it may: the disk refused the record, or another process has taken the
   *   task over
   */
  async beginAttempt(submitMs: number): Promise<ImggenError | null> {
    const now = this.#ledger.clock.now();
    if (now + submitMs <= coveredUntilMs(this.#record)) return null;
    return this.#announce({ type: "submitting", at: isoTime(now), until: isoTime(now + coverMs(submitMs)) });
  }

  /** Records that the service answered 429. @param waitMs how long it may be until the next attempt */
  async rateLimited(why: string, waitMs: number): Promise<void> {
    const now = this.#ledger.clock.now();
    await this.write({
      type: "rate_limited",
      at: isoTime(now),
      why,
      until: isoTime(now + waitMs + MARGIN_MS),
    });
  }

  /**
   * Records that a request of a task is about to be sent. From here on it counts as sent.
   * @param forMs how long it may take
   * @returns as `beginAttempt`
   */
  async start(request: number, forMs: number): Promise<ImggenError | null> {
    return this.#announce({ type: "started", ...this.#inHandFor(coverMs(forMs)), request });
  }

  /** Records that a request waits for its turn, or to be sent again: this process has it in hand for a while. */
  async wait(request: number, why: string | null, sent: boolean, forMs = WAIT_MS): Promise<void> {
    const said = why === null ? {} : { why };
    await this.write({ type: "waiting", ...said, sent, ...this.#inHandFor(forMs), request });
  }

  /** Records that this process now waits for a request that another one has sent. */
  async takeOver(request: number, forMs: number): Promise<void> {
    await this.write({ type: "taken_over", ...this.#inHandFor(coverMs(forMs)), request });
  }

  /** The fields of a line by which this process has a request in hand for some time. */
  #inHandFor(ms: number): { at: string; by: ProcessIdentity; until: string } {
    const now = this.#ledger.clock.now();
    return { at: isoTime(now), by: this.#ledger.processes.self, until: isoTime(now + ms) };
  }

  /** What the task has cost, as its lines say by now. */
  get charged(): Charged {
    return chargedOf(this.#record);
  }

  /** Whether this process has a waiting request in hand for some time to come. */
  isWaitCovered(request: number): boolean {
    const state = this.#record.requests[request];
    if (state?.name !== "waiting" || state.until === null) return true;
    const leftMs = Date.parse(state.until) - this.#ledger.clock.now();
    return state.by?.pid === this.#ledger.processes.self.pid && leftMs > WAIT_MS / 2;
  }

  async #announce(event: TaskEvent): Promise<ImggenError | null> {
    try {
      if (await this.#ledger.isTakenOver(this.#task)) return this.#takenOver();
      await this.#writeAll();
      await this.#task.file.record(event);
      this.#record = withEvent(this.#record, event);
      return (await this.#ledger.isTakenOver(this.#task)) ? this.#takenOver() : null;
    } catch (error) {
      const hint = "The request was not submitted again. Free some space or fix the folder's permissions.";
      return new StateFolderError(this.#ledger.folder, error, { hint });
    }
  }

  #takenOver(): TakenOverError {
    this.#isTakenOver = true;
    return new TakenOverError(`Another process has taken over request ${this.id}.`, {
      hint: "It was not submitted by this one. To see what became of it: imggen history",
    });
  }

  async #catchUp(): Promise<boolean> {
    try {
      await this.#writeAll();
      return true;
    } catch (error) {
      this.#complain(error);
      return false;
    }
  }

  /** @throws what the disk says */
  async #writeAll(): Promise<void> {
    for (let next = this.#unwritten[0]; next; next = this.#unwritten[0]) {
      await this.#task.file.record(next);
      this.#unwritten.shift();
    }
  }

  /** Leaves the task as it is: filed under the finished ones, or released where there is something left to do. */
  async leave(): Promise<void> {
    if (STATES[this.#record.state.name].isOpen) await this.release();
    else await this.finish();
  }

  /** Files the task under the finished ones. */
  async finish(): Promise<void> {
    // What the disk does not know to be finished must be found again by `resume`.
    if (this.#unwritten.length > 0) return this.release();
    try {
      await this.#ledger.finish(this.#task, this.#record);
    } catch (error) {
      this.#complain(error);
    }
  }

  /** Releases the task for the next process that resumes it. One that another process has now is not ours to release. */
  async release(): Promise<void> {
    if (!this.#isTakenOver) {
      await this.#catchUp();
      if (this.#task.claim !== null && this.#isInHand) await this.write({ type: "released", at: this.#now });
    }
    try {
      if (this.#isTakenOver && this.#task.claim === null) this.#task.file.close();
      else await this.#task.release();
    } catch (error) {
      this.#complain(error);
    }
  }

  /** Whether its lines say that this process has it in hand for a while yet. */
  get #isInHand(): boolean {
    const { self } = this.#ledger.processes;
    return this.#record.requests.some((state) => "by" in state && state.by?.pid === self.pid);
  }

  get #now(): string {
    return isoTime(this.#ledger.clock.now());
  }

  #complain(error: unknown): void {
    if (this.#complained) return;
    this.#complained = true;
    const { state } = this.#record;
    const taskId = taskIdOf(this.#record);
    const what = taskId === null ? OUTCOMES[state.name] : `Note this task id: ${taskId}`;
    this.#onWarning(`The ledger could not be written: ${errorText(error)}. ${what}`);
  }
}

function coveredUntilMs({ state }: TaskRecord): number {
  return state.name === "intent" && state.until !== null ? Date.parse(state.until) : Number.NEGATIVE_INFINITY;
}

const OUTCOMES: Readonly<Partial<Record<TaskState["name"], string>>> = {
  intent: "The request may have been sent.",
  rate_limited: "The service was busy (HTTP 429), and the request was not submitted again yet.",
  unknown: "The request was sent, and its outcome is not known.",
  not_sent: "The request was not sent.",
  dismissed: "The request was dismissed.",
  refused: "The request was refused, and nothing was charged.",
};
