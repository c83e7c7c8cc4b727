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
 * A task that this process has claimed, and the part of the task's file that this process writes. A process that has
 * lost the claim must not submit, end or delete the task, but still records the replies to its own requests.
 */
export class ClaimedTask {
  readonly #ledger: Ledger;
  readonly #owned: OwnedTask;
  readonly #onWarning: (message: string) => void;
  #task: Task;
  #attempts = 0;
  /** Lines that could not be written yet, oldest first. The next write includes them. */
  readonly #unwrittenLines: Line[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Number of jobs in the last warning; -1 before the first warning. */
  #warnedJobCount = -1;
  #isLost = false;

  constructor(ledger: Ledger, owned: OwnedTask, onWarning: (message: string) => void) {
    this.#ledger = ledger;
    this.#owned = owned;
    this.#task = owned.task;
    this.#onWarning = onWarning;
    this.#attempts = owned.task.requests.reduce((sum, { attempts }) => sum + attempts.length, 0);
  }

  get task(): Task {
    return this.#task;
  }

  get charged(): Charged {
    return getCharged(this.#task);
  }

  get #isoNow(): string {
    return isoTime(this.#ledger.clock.now());
  }

  /** Whether another process has taken over or ended the task. @throws StateFolderError if the disk cannot be read */
  get isLost(): boolean {
    try {
      this.#isLost ||= !this.#ledger.hasLastPart(this.#owned);
    } catch (error) {
      throw new StateFolderError(this.#ledger.folder, error);
    }
    return this.#isLost;
  }

  async takenOverError(): Promise<TakenOverError> {
    const worker = describeWorker(
      await this.#ledger.findWorker(this.#task).catch(() => null),
      this.#ledger.processes.self,
    );
    const name = displayId(this.#task);
    return new TakenOverError(`${worker} has taken over task ${name}.`, {
      charged: this.charged,
      hint: phrase`This process has submitted nothing since. To see the task's state: ${action("history")}`,
    });
  }

  /**
   * Appends a line to the task's file and syncs the file. A reply reopens a task that another process has ended.
   * @returns whether the line is on disk
   */
  async record(line: Line): Promise<boolean> {
    this.#task = withLine(this.#task, line);
    this.#unwrittenLines.push(line);
    const isWritten = await this.#tryWriteLines(mayUseReserve(line));
    // A reply reopens the task even without the claim, because another process might have taken over and ended the
    // task.
    if (isResumable(this.#task.state))
      await this.#ledger.reopenIfAnswered(this.#task.id).catch((error: unknown) => this.#warn(error));
    return isWritten;
  }

  /**
   * Records that a request is about to be submitted, after which the request counts as sent.
   * @returns the attempt's name, or an error if the disk cannot be used, the claim is lost or the batch row has ended
   */
  async start(request: number): Promise<string | ImggenError> {
    const attempt = `${this.#owned.part}.${this.#attempts}`;
    this.#attempts += 1;
    const line: Line<"started"> = { type: "started", at: this.#isoNow, request, attempt };
    try {
      if (this.isLost) return await this.takenOverError();
      await this.#writeLines(false);
      if ((await this.#isRowEnded()) || this.isLost) return await this.takenOverError();
      await this.#owned.file.record(line);
    } catch (error) {
      // The line might be on disk despite the error, so a later line must record that the request was not submitted.
      if (errorCode(error) !== undefined) this.#unwrittenLines.push(this.#notSubmittedLine(request, attempt));
      return this.#notSubmittedError(error);
    }
    this.#task = withLine(this.#task, line);
    let diskError: StateFolderError | null = null;
    try {
      if (!this.isLost) return attempt;
    } catch (error) {
      diskError = this.#notSubmittedError(error);
    }
    // Recorded before the error is made, because the error's `charged` depends on this line.
    await this.record(this.#notSubmittedLine(request, attempt));
    return diskError ?? this.takenOverError();
  }

  #notSubmittedError(error: unknown): StateFolderError {
    // Unwrapped, because both errors would name the folder in the message.
    const cause = error instanceof StateFolderError ? error.cause : error;
    return new StateFolderError(this.#ledger.folder, cause, { hint: NOT_SUBMITTED });
  }

  #notSubmittedLine(request: number, attempt: string): Line<"waiting"> {
    return { type: "waiting", at: this.#isoNow, request, attempt, why: "it was not submitted" };
  }

  /**
   * Whether the task's batch row has ended. If not, records before the first attempt that the row has begun.
   * @throws the disk's error
   */
  async #isRowEnded(): Promise<boolean> {
    const { claim, id, requests } = this.#task;
    if (claim === null || requests.some(({ attempts }) => attempts.length > 0)) return false;
    if (await hasRowOutcome(this.#ledger.folder, claim, id)) return true;
    await recordRowBegun(this.#ledger.folder, claim);
    return false;
  }

  /** Whether the user has cancelled the task in another process. @throws StateFolderError */
  isCancelled(): boolean {
    return this.#ledger.cancels.has(this.#task.id);
  }

  /** Calls `callback` repeatedly while the task is marked as cancelled. @returns a function that stops the calls */
  onCancel(callback: () => void): () => void {
    return this.#ledger.cancels.watch(this.#task.id, callback);
  }

  async #tryWriteLines(isVital: boolean): Promise<boolean> {
    try {
      await this.#writeLines(isVital);
      return true;
    } catch (error) {
      this.#warn(error);
      return false;
    }
  }

  /** @param isVital whether to delete the reserve file if the disk is full @throws the disk's error */
  #writeLines(isVital: boolean): Promise<void> {
    // Writes run one after the other, because concurrent writes would append the same lines twice.
    const writing = this.#writing.then(() => this.#writeQueued(isVital));
    this.#writing = writing.catch(() => {});
    return writing;
  }

  async #writeQueued(isVital: boolean): Promise<void> {
    for (let next = this.#unwrittenLines[0]; next; next = this.#unwrittenLines[0]) {
      await this.#owned.file.record(next, isVital);
      this.#unwrittenLines.shift();
    }
  }

  /** Releases the claim. A finished task is moved to `done`, and another process can claim an unfinished task. */
  async release(): Promise<void> {
    const isWritten = await this.#tryWriteLines(true);
    try {
      const isMine = this.#isCertainlyMine();
      // A task whose end is not on disk stays open, so that `resume` finds the task again.
      if (isMine && isWritten && !STATES[this.#task.state].isOpen) await this.#end();
      else this.#ledger.release(this.#owned, isMine);
    } catch (error) {
      this.#warn(error);
    }
  }

  #isCertainlyMine(): boolean {
    try {
      return !this.isLost;
    } catch (error) {
      this.#warn(error);
      return false;
    }
  }

  /** Moves the task to `done`. If its images are saved, deletes replies that were stored outside its folder. */
  async #end(): Promise<void> {
    const task = this.#task;
    if (!(await this.#ledger.end(this.#owned, task)) || task.state !== "saved") return;
    for (const [index, { attempts }] of task.requests.entries())
      for (const { name } of attempts)
        for (const file of fallbackFiles(task, index, name)) removeIfPossible(file);
  }

  /** Error if lines could not be written, with the job ids that would be lost; null if all lines are on disk. */
  get unwrittenError(): ImggenError | null {
    if (this.#unwrittenLines.length === 0) return null;
    const jobs = this.#jobs;
    const consequence =
      jobs.length === 0 ? STATE_MESSAGES[this.#task.state] : noteAdvice(jobs, getTaskId(this.#task));
    const cause = new Error("the disk refused a record");
    return new StateFolderError(this.#ledger.folder, cause, { hint: consequence, charged: this.charged });
  }

  get #jobs(): string[] {
    return this.#task.requests.flatMap(({ attempt }) => attempt?.accepted?.id ?? []);
  }

  async withdraw(): Promise<void> {
    await this.#ledger.withdraw(this.#owned);
  }

  #warn(error: unknown): void {
    const jobs = this.#jobs;
    if (jobs.length <= this.#warnedJobCount) return;
    this.#warnedJobCount = jobs.length;
    const consequence =
      jobs.length === 0 ? STATE_MESSAGES[this.#task.state] : noteAdvice(jobs, getTaskId(this.#task));
    this.#onWarning(`The ledger could not be written: ${errorText(error)}. ${consequence}`);
  }
}

function noteAdvice(jobs: readonly string[], taskId: string | null): string {
  const [first] = jobs;
  if (jobs.length === 1 && first === taskId) return `Note this task id: ${first}`;
  return `Note the provider's job id, by which the task can be resumed: ${jobs.join(", ")}`;
}

const STATE_MESSAGES: Readonly<Record<TaskState, string>> = {
  started: "The request may have been sent.",
  accepted: "",
  waiting: "The request was not sent yet.",
  completed: "The image was generated.",
  unknown: "The request was sent, and its outcome is not known.",
  dismissed: "The request was dismissed.",
  failed: "The task has failed.",
  cancelled: "The task was cancelled.",
  refused: "The request was refused, and nothing was charged.",
  not_sent: "The request was not sent.",
  saved: "Its images are saved.",
};

/** Claims a task. @returns "claimed" if a living process has claimed the task, or "ended" if the task has ended */
export async function claimTask(
  task: Task,
  ledger: Ledger,
  onWarning: (message: string) => void,
  server?: string,
): Promise<ClaimedTask | "claimed" | "ended"> {
  const owned = await ledger.take(task, server);
  return typeof owned === "string" ? owned : new ClaimedTask(ledger, owned, onWarning);
}
