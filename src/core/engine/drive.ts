import { isoTime } from "../../lib/clock.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { InterruptedError, interruptedError } from "../../lib/interrupted.ts";
import { type Destination, isSameDestination, recoveryDestination } from "../../task/intent.ts";
import { areImagesSaved, displayId, getTaskId, isUnsaved, STATES, type Task } from "../../task/task.ts";
import { AnsweredError, InheritedError, PendingError, TakenOverError } from "../errors.ts";
import type { Pass } from "../limits/gate.ts";
import { POLICY } from "../limits/policy.ts";
import { type WaitResult, type WaitSettings, waitTimeoutMs } from "../polling/wait.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import type { TaskDeps } from "./deps.ts";
import { type AcceptedJob, acceptedJobs, followJob, openJobs } from "./follow-job.ts";
import { recoverRequests } from "./recover.ts";
import { type TaskReport, taskFacts, taskReport } from "./report.ts";
import type { SaveGoal } from "./save.ts";
import { submitRequests } from "./send.ts";
import { taskError } from "./task-error.ts";

export interface Goal {
  sends: boolean;
  /** null to return as soon as the provider has accepted the task. */
  wait: WaitSettings | null;
  destination: Destination | null;
  /** Whether --overwrite keeps a file newer than the task, because the file can be the output of another row. */
  keepsNewer?: boolean;
  isContinued: boolean;
  /** Results of finished waits for the task's jobs, by request index. */
  seen?: ReadonlyMap<number, WaitResult>;
  /** Attempt that the intent already records as sent, with its pass from the gate. */
  first?: { attempt: string; pass: Pass };
  onSent?: () => void;
}

/**
 * Continues a claimed task as far as possible, and releases the claim. Polls and downloads continue after a failed
 * submit. Expected errors are in the report, not thrown.
 */
export function driveTask(
  claimedTask: ClaimedTask,
  goal: Goal,
  warnings: readonly string[],
  deps: TaskDeps,
): Promise<TaskReport> {
  return new TaskDriver(claimedTask, goal, warnings, deps).run();
}

class TaskDriver {
  readonly #claimedTask: ClaimedTask;
  readonly #goal: Goal;
  readonly #deps: TaskDeps;
  readonly #warnings: Set<string>;
  readonly #takeover = new AbortController();
  readonly #jobWaits: Promise<ImggenError | null>[] = [];
  #saving: Promise<unknown> = Promise.resolve();
  readonly #savedEarly = new Set<number>();
  #saveFailure: ImggenError | null = null;

  constructor(claimedTask: ClaimedTask, goal: Goal, warnings: readonly string[], deps: TaskDeps) {
    this.#claimedTask = claimedTask;
    this.#goal = goal;
    this.#warnings = new Set([...warnings, ...packageWarnings(claimedTask.task, deps)]);
    this.#deps = { ...deps, signal: AbortSignal.any([deps.signal, this.#takeover.signal]) };
  }

  get #task(): Task {
    return this.#claimedTask.task;
  }

  async run(): Promise<TaskReport> {
    const { id } = this.#task;
    this.#deps.onProgress({ type: "recorded", id, taskId: getTaskId(this.#task) });
    try {
      return await this.#run();
    } catch (error) {
      if (!(error instanceof ImggenError)) throw error;
      await this.#claimedTask.release();
      return { ...taskFacts(this.#task), warnings: [...this.#warnings], error };
    }
  }

  async #run(): Promise<TaskReport> {
    const { sends, first, seen } = this.#goal;
    const recoverError = sends && !first ? await recoverRequests(this.#claimedTask, this.#deps) : null;
    const jobs = this.#goal.isContinued ? openJobs(this.#task) : acceptedJobs(this.#task);
    for (const job of jobs) this.#follow(job, seen?.get(job.request));
    this.#saveEarly();
    let sendError = recoverError ?? (await this.#submit(first).catch(toExpectedError));
    if (sendError instanceof TakenOverError) this.#takeover.abort(sendError);
    // Waits for all jobs even after an error, because the claim must not be released during the work on the task.
    let waitErrors = await Promise.all(this.#jobWaits);
    while (sendError === null && !this.#claimedTask.isLost && this.#hasWaiting) {
      // Repeated, because a request waits again after a free provider has lost its job.
      sendError = await this.#submit().catch(toExpectedError);
      waitErrors = await Promise.all(this.#jobWaits);
    }
    await this.#saving;
    const stop = this.#mostImportant(sendError, waitErrors);
    if (stop instanceof TakenOverError) return this.#takenOverReport(stop);
    if (stop instanceof AnsweredError) {
      await this.#claimedTask.withdraw();
      return { ...taskFacts(this.#task), error: stop };
    }
    return this.#finish(stop);
  }

  async #submit(first?: Goal["first"]): Promise<ImggenError | null> {
    const { sends, wait, onSent, isContinued } = this.#goal;
    if (!sends) return this.#waitingError();
    const timeoutMs = wait?.timeoutMs ?? null;
    return submitRequests(
      this.#claimedTask,
      {
        timeoutMs,
        maxWaitMs: wait ? waitTimeoutMs(wait, this.#task.intent.request) : POLICY.submit.maxBusyMs,
        maxUnsent: this.#deps.maxUnsent ?? POLICY.submit.unsent.attempts,
        isContinued,
        first,
        onSent,
        onWarning: (message) => void this.#warnings.add(message),
        onAnswered: (request) => this.#handleReply(request),
      },
      this.#deps,
    );
  }

  get #hasWaiting(): boolean {
    return this.#task.requests.some(({ state }) => state === "waiting");
  }

  #waitingError(): ImggenError | null {
    if (!this.#hasWaiting) return null;
    const message = `Task ${displayId(this.#task)} waits to be submitted.`;
    return new PendingError(message, { charged: this.#claimedTask.charged });
  }

  #handleReply(request: number): void {
    const job = acceptedJobs(this.#task).find((job) => job.request === request);
    if (job) this.#follow(job);
    else this.#saveEarly();
  }

  #follow(job: AcceptedJob, seen?: WaitResult): void {
    const { wait, isContinued, sends } = this.#goal;
    if (wait === null) return;
    // This command does not submit, so a wait for unsent requests would never end.
    const hasUnsentRequests = !sends && this.#waitingError() !== null;
    const timeoutMs = hasUnsentRequests ? 0 : wait.timeoutMs;
    const onWarning = (message: string) => void this.#warnings.add(message);
    const spec = { ...wait, timeoutMs, pollAtOnce: isContinued, resubmits: sends, onWarning };
    const waitError = followJob(this.#claimedTask, job, spec, this.#deps, seen).then((stop) => {
      if (stop instanceof TakenOverError) this.#takeover.abort(stop);
      else if (stop === null) this.#saveEarly();
      return stop;
    });
    const jobWait = waitError.catch(toExpectedError);
    // Prevents an unhandled rejection, because `Promise.all` throws the error only later.
    jobWait.catch(() => {});
    this.#jobWaits.push(jobWait);
  }

  #saveEarly(): void {
    if (this.#goal.wait === null || this.#task.requests.length === 1) return;
    const saving = this.#saving.then(async () => {
      if (this.#deps.signal.aborted || this.#claimedTask.isLost) return;
      const requests = this.#requestsToSave;
      for (const request of requests) this.#savedEarly.add(request);
      if (requests.size > 0) await this.#save(requests);
    });
    this.#saving = saving.catch((error: unknown) => {
      this.#saveFailure ??= toExpectedError(error);
    });
    this.#saving.catch(() => {});
  }

  /** Completed requests with unsaved images. A request whose images could not be saved is left to the next run. */
  get #requestsToSave(): ReadonlySet<number> {
    const indexes = [...this.#task.requests.keys()].filter(
      (request) =>
        this.#task.requests[request]?.state === "completed" &&
        !areImagesSaved(this.#task, request) &&
        !this.#savedEarly.has(request),
    );
    return new Set(indexes);
  }

  async #save(requests: ReadonlySet<number> | null): Promise<void> {
    const { saveCompleted } = await import("./save.ts");
    const { warnings, failure } = await saveCompleted(
      this.#claimedTask,
      this.#saveGoal,
      requests,
      this.#deps,
    );
    for (const warning of warnings) this.#warnings.add(warning);
    this.#saveFailure ??= failure;
  }

  get #saveGoal(): SaveGoal {
    const { destination, keepsNewer = false, isContinued } = this.#goal;
    const recordedDestination = this.#task.intent.destination;
    return {
      destination:
        destination ?? (isContinued ? recoveryDestination(recordedDestination) : recordedDestination),
      // A user who gives a destination to this command accepts that existing files are replaced.
      replacesNewer: isContinued && destination !== null && !keepsNewer,
      isContinued,
      // Only a continued task can have files elsewhere.
      isOtherDestination:
        isContinued && destination !== null && !isSameDestination(destination, recordedDestination),
    };
  }

  /** Returns the most important error: a takeover, then a failed submit, then a failed wait. */
  #mostImportant(
    sendError: ImggenError | null,
    waitErrors: readonly (ImggenError | null)[],
  ): ImggenError | null {
    const takenOver = [sendError, ...waitErrors].find((error) => error instanceof TakenOverError);
    return takenOver ?? sendError ?? waitErrors.find((error) => error !== null) ?? null;
  }

  async #finish(stop: ImggenError | null): Promise<TaskReport> {
    const { wait } = this.#goal;
    const isAwaited = wait !== null;
    const isReady = isAwaited && this.#saveFailure === null && !this.#deps.signal.aborted;
    if (isReady && this.#task.state === "completed" && needsLastSave(this.#task, this.#saveGoal)) {
      if (this.#claimedTask.isLost) return this.#takenOverReport(await this.#claimedTask.takenOverError());
      await this.#save(null);
    }
    // The process that has taken over the task removes the temporary files.
    if (this.#saveFailure !== null && this.#claimedTask.isLost)
      return this.#takenOverReport(await this.#claimedTask.takenOverError());
    await this.#removeLeftovers();
    await this.#claimedTask.release();
    const { task } = this.#claimedTask;
    const writeError = isAwaited ? null : this.#claimedTask.unwrittenError;
    const failure = this.#saveFailure ?? writeError ?? this.#saveInterruptedError();
    const error = failure ?? (stop === null ? taskError(task) : this.#toTaskError(stop));
    return { ...taskFacts(task), warnings: [...this.#warnings], isAwaited, error };
  }

  async #removeLeftovers(): Promise<void> {
    const { state } = this.#task;
    const hasNoImage = state === "failed" || state === "cancelled";
    if (!this.#goal.isContinued || !hasNoImage || this.#claimedTask.isLost) return;
    const { sweepLeftovers } = await import("../images/save-images.ts");
    const { destination } = this.#saveGoal;
    await sweepLeftovers({ destination, claimedTaskId: this.#task.id }, this.#deps);
  }

  #saveInterruptedError(): ImggenError | null {
    const { signal } = this.#deps;
    const isUnsaved = this.#goal.wait !== null && this.#task.state === "completed";
    return signal.aborted && isUnsaved ? interruptedError(signal, this.#claimedTask.charged) : null;
  }

  /** Adapts an error to the whole task, because the error's `charged: no` can apply to the last request alone. */
  #toTaskError(stop: ImggenError): ImggenError {
    const { charged } = this.#claimedTask;
    if (stop instanceof InterruptedError) return interruptedError(this.#deps.signal, charged);
    // A `PendingError` makes the command advise `resume`, which submits the waiting requests again.
    if (stop.type === "service_error" && this.#hasWaiting && charged !== "no")
      return new PendingError(stop.message, { charged, cause: stop });
    if (stop.charged !== "no" || charged === "no") return stop;
    const { type, key, message } = stop;
    const hint = "The images made before are kept.";
    return new InheritedError(type, message, { key: key ?? undefined, charged, hint, cause: stop });
  }

  /** Report after another process took over the task, with that process's result if known. */
  async #takenOverReport(error: ImggenError): Promise<TaskReport> {
    await this.#claimedTask.release();
    const entry = await this.#deps.ledger.read(this.#task.id).catch(() => null);
    const report = entry?.kind === "task" ? taskReport(entry.task) : taskFacts(this.#task);
    const warnings = [...this.#warnings];
    if (report.state === "saved") return { ...report, warnings };
    // The other process can submit a waiting request at any time, so an open task might be charged.
    const mightBeCharged =
      report.charged === "no" && report.free === undefined && STATES[report.state].isOpen;
    return { ...report, ...(mightBeCharged && { charged: "unknown" }), warnings, error };
  }
}

/** Returns an expected error. @throws any other error, which is a bug */
function toExpectedError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  throw error;
}

function needsLastSave(task: Task, { isOtherDestination }: SaveGoal): boolean {
  const isOnlyUnknown = !isUnsaved(task) && task.requests.some(({ state }) => state === "unknown");
  return isOtherDestination || !isOnlyUnknown;
}

function packageWarnings({ intent }: Task, { connection }: TaskDeps): string[] {
  const firstPackage = intent.options.package;
  const currentPackage = connection.generator?.package;
  if (firstPackage === undefined || currentPackage === undefined || firstPackage === currentPackage)
    return [];
  return [`The task was begun with ${firstPackage}, and is continued with ${currentPackage}.`];
}

/** Records the waiting requests of a task as not sent, and releases the claim. */
export async function closeUnsent(
  claimedTask: ClaimedTask,
  why: string,
  deps: Pick<TaskDeps, "clock">,
): Promise<void> {
  const at = isoTime(deps.clock.now());
  for (const [request, { state }] of claimedTask.task.requests.entries())
    if (state === "waiting") await claimedTask.record({ type: "not_sent", at, why, request });
  await claimedTask.release();
}
