import { isoTime } from "../../lib/clock.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { InterruptedError, interruptedError } from "../../lib/interrupted.ts";
import { type Destination, isSameDestination, recoveryDestination } from "../../task/intent.ts";
import { displayId, getTaskId, isUnsaved, type Task } from "../../task/task.ts";
import { AnsweredError, InheritedError, PendingError, TakenOverError } from "../errors.ts";
import type { Pass } from "../limits/gate.ts";
import { POLICY } from "../limits/policy.ts";
import { type WaitResult, type WaitSettings, waitTimeoutMs } from "../polling/wait.ts";
import type { TaskDeps } from "./deps.ts";
import { type AcceptedJob, acceptedJobs, followJob, openJobs } from "./follow-job.ts";
import type { HeldTask } from "./held.ts";
import { recoverRequests } from "./recover.ts";
import { type TaskReport, taskFacts, taskReport } from "./report.ts";
import type { SaveGoal } from "./save.ts";
import { sendRequests } from "./send.ts";
import { taskError } from "./task-error.ts";

/** The point to which a task is taken. */
export interface Goal {
  /** Whether what waits is submitted, and what was submitted by an ended process recovered. `status` does neither. */
  sends: boolean;
  /** null: until its provider has accepted it. */
  wait: WaitSettings | null;
  /** Destination that overrides the task's own; null: the task's. */
  destination: Destination | null;
  /** Whether a file there that is newer than the task is kept under --overwrite: another row of a batch may be saved in it. */
  keepsNewer?: boolean;
  /** Whether an earlier run has begun the task. */
  isContinued: boolean;
  /** Results of waits for its jobs that are over already, by the number of their request. */
  seen?: ReadonlyMap<number, WaitResult>;
  /** The attempt of its intent, and the pass that it has: it counts as sent already. */
  first?: { attempt: string; pass: Pass };
  onSent?: () => void;
}

/**
 * Takes a task that this process holds as far as it goes: what was submitted before is recovered, what waits is submitted in
 * its turn, what is accepted is followed, and each image is saved as soon as it is made. Whatever keeps requests from being
 * submitted holds up neither polls nor images. The task is left at the end. Never throws an expected error: it is in the
 * report.
 */
export function drive(
  heldTask: HeldTask,
  goal: Goal,
  warnings: readonly string[],
  deps: TaskDeps,
): Promise<TaskReport> {
  return new Drive(heldTask, goal, warnings, deps).run();
}

class Drive {
  readonly #held: HeldTask;
  readonly #goal: Goal;
  readonly #deps: TaskDeps;
  readonly #warnings: Set<string>;
  /** Aborts the waits of a task that another process has taken over. */
  readonly #lost = new AbortController();
  readonly #following: Promise<ImggenError | null>[] = [];
  /** Images of one task are saved one after the other. */
  #saving: Promise<unknown> = Promise.resolve();
  #saveFailure: ImggenError | null = null;

  constructor(heldTask: HeldTask, goal: Goal, warnings: readonly string[], deps: TaskDeps) {
    this.#held = heldTask;
    this.#goal = goal;
    this.#warnings = new Set([...warnings, ...otherPackage(heldTask.task, deps)]);
    this.#deps = { ...deps, signal: AbortSignal.any([deps.signal, this.#lost.signal]) };
  }

  get #task(): Task {
    return this.#held.task;
  }

  async run(): Promise<TaskReport> {
    const { id } = this.#task;
    this.#deps.onProgress({ type: "recorded", id, taskId: getTaskId(this.#task) });
    try {
      return await this.#run();
    } catch (error) {
      if (!(error instanceof ImggenError)) throw error;
      await this.#held.leave();
      return { ...taskFacts(this.#task), warnings: [...this.#warnings], error };
    }
  }

  async #run(): Promise<TaskReport> {
    const { sends, first, seen } = this.#goal;
    const unrecovered = sends && !first ? await recoverRequests(this.#held, this.#deps) : null;
    const jobs = this.#goal.isContinued ? openJobs(this.#task) : acceptedJobs(this.#task);
    for (const job of jobs) this.#follow(job, seen?.get(job.request));
    this.#saveEarly();
    let unsent = unrecovered ?? (await this.#send(first).catch(expected));
    if (unsent instanceof TakenOverError) this.#lost.abort(unsent);
    // The task is left only when nothing works on it any longer, whatever has failed.
    let stops = await Promise.all(this.#following);
    while (unsent === null && !this.#held.isLost && this.#hasWaiting) {
      // A free provider has lost a job that it had accepted.
      unsent = await this.#send().catch(expected);
      stops = await Promise.all(this.#following);
    }
    await this.#saving;
    const stop = this.#pressing(unsent, stops);
    if (stop instanceof TakenOverError) return this.#abandoned(stop);
    if (stop instanceof AnsweredError) {
      await this.#held.withdraw();
      return { ...taskFacts(this.#task), error: stop };
    }
    return this.#finished(stop);
  }

  /** Submits what waits. @returns why it is not */
  async #send(first?: Goal["first"]): Promise<ImggenError | null> {
    const { sends, wait, onSent, isContinued } = this.#goal;
    if (!sends) return this.#waitsUnsent();
    const timeoutMs = wait?.timeoutMs ?? null;
    return sendRequests(
      this.#held,
      {
        timeoutMs,
        maxWaitMs: wait ? waitTimeoutMs(wait, this.#task.intent.request) : POLICY.submit.maxBusyMs,
        maxUnsent: this.#deps.maxUnsent ?? POLICY.submit.unsent.attempts,
        isContinued,
        first,
        onSent,
        onWarning: (message) => void this.#warnings.add(message),
        onAnswered: (request) => this.#answered(request),
      },
      this.#deps,
    );
  }

  get #hasWaiting(): boolean {
    return this.#task.requests.some(({ state }) => state === "waiting");
  }

  #waitsUnsent(): ImggenError | null {
    if (!this.#hasWaiting) return null;
    const message = `Task ${displayId(this.#task)} waits to be submitted.`;
    return new PendingError(message, { charged: this.#held.charged });
  }

  #answered(request: number): void {
    const job = acceptedJobs(this.#task).find((each) => each.request === request);
    if (job) this.#follow(job);
    else this.#saveEarly();
  }

  /** @param seen how the wait for the job ended, if it is over already */
  #follow(job: AcceptedJob, seen?: WaitResult): void {
    const { wait, isContinued, sends } = this.#goal;
    if (wait === null) return;
    // A command that does not submit does not wait for unsent requests.
    const isEnded = !sends && this.#waitsUnsent() !== null;
    const timeoutMs = isEnded ? 0 : wait.timeoutMs;
    const onWarning = (message: string) => void this.#warnings.add(message);
    const spec = { ...wait, timeoutMs, pollAtOnce: isContinued, resubmits: sends, onWarning };
    const followed = followJob(this.#held, job, spec, this.#deps, seen).then((stop) => {
      if (stop instanceof TakenOverError) this.#lost.abort(stop);
      else if (stop === null) this.#saveEarly();
      return stop;
    });
    const following = followed.catch(expected);
    // A bug is thrown where all are awaited.
    following.catch(() => {});
    this.#following.push(following);
  }

  /** Saves the images that are made, while others of the task are still to come. */
  #saveEarly(): void {
    if (this.#goal.wait === null || this.#task.requests.length === 1) return;
    const saving = this.#saving.then(async () => {
      const isNew = this.#task.requests.some(
        ({ state }, at) => state === "completed" && !this.#task.files[at],
      );
      if (!isNew || this.#saveFailure !== null || this.#deps.signal.aborted || this.#held.isLost) return;
      await this.#save(false);
    });
    this.#saving = saving.catch((error: unknown) => {
      this.#saveFailure ??= expected(error);
    });
    this.#saving.catch(() => {});
  }

  async #save(isLast: boolean): Promise<void> {
    // Loaded before the submit, but for what is never saved.
    const { saveMade } = await import("./save.ts");
    const { warnings, failure } = await saveMade(this.#held, this.#saveGoal, isLast, this.#deps);
    for (const warning of warnings) this.#warnings.add(warning);
    this.#saveFailure = failure;
  }

  get #saveGoal(): SaveGoal {
    const { destination, keepsNewer = false, isContinued } = this.#goal;
    const intended = this.#task.intent.destination;
    return {
      destination: destination ?? (isContinued ? recoveryDestination(intended) : intended),
      // The user has named this place now, and so knows what is in it.
      replacesNewer: isContinued && destination !== null && !keepsNewer,
      isContinued,
      isOtherPlace: destination !== null && !isSameDestination(destination, intended),
    };
  }

  /** The stop that a report is about: one that keeps requests from being submitted before one of a wait. */
  #pressing(unsent: ImggenError | null, stops: readonly (ImggenError | null)[]): ImggenError | null {
    const takenOver = [unsent, ...stops].find((each) => each instanceof TakenOverError);
    return takenOver ?? unsent ?? stops.find((each) => each !== null) ?? null;
  }

  async #finished(stop: ImggenError | null): Promise<TaskReport> {
    const { wait } = this.#goal;
    const isAwaited = wait !== null;
    const isReady = isAwaited && this.#saveFailure === null && !this.#deps.signal.aborted;
    if (isReady && this.#task.state === "completed" && isUnsavedOrUnrecorded(this.#task, this.#goal)) {
      if (this.#held.isLost) return this.#abandoned(await this.#held.takenOver());
      await this.#save(true);
    }
    // Its new holder removes the drafts of the old one.
    if (this.#saveFailure !== null && this.#held.isLost) return this.#abandoned(await this.#held.takenOver());
    await this.#sweep();
    await this.#held.leave();
    const { task } = this.#held;
    const unwritten = isAwaited ? null : this.#held.unwritten;
    const failure = this.#saveFailure ?? unwritten ?? this.#interruptedSave();
    const error = failure ?? (stop === null ? taskError(task) : this.#ofTask(stop));
    return { ...taskFacts(task), warnings: [...this.#warnings], isAwaited, error };
  }

  /** Removes what an earlier process has left of an image that can no longer be had. */
  async #sweep(): Promise<void> {
    const { state } = this.#task;
    const hasNone = state === "failed" || state === "cancelled";
    if (!this.#goal.isContinued || !hasNone || this.#held.isLost) return;
    const { sweepLeftovers } = await import("../images/save-images.ts");
    const { destination } = this.#saveGoal;
    await sweepLeftovers({ destination, heldTaskId: this.#task.id }, this.#deps);
  }

  /** A signal that came before what is made was saved. */
  #interruptedSave(): ImggenError | null {
    const { signal } = this.#deps;
    const isLeft = this.#goal.wait !== null && this.#task.state === "completed";
    return signal.aborted && isLeft ? interruptedError(signal, this.#held.charged) : null;
  }

  /** Error that ends a task: `charged: no` may be true of its last request alone. */
  #ofTask(stop: ImggenError): ImggenError {
    const { charged } = this.#held;
    if (stop instanceof InterruptedError) return interruptedError(this.#deps.signal, charged);
    // A provider that is busy is asked again by resume.
    if (stop.type === "service_error" && this.#hasWaiting && charged !== "no")
      return new PendingError(stop.message, { charged, cause: stop });
    if (stop.charged !== "no" || charged === "no") return stop;
    const { type, key, message } = stop;
    const hint = "What was made before is kept.";
    return new InheritedError(type, message, { key: key ?? undefined, charged, hint, cause: stop });
  }

  /** The report of a process that has lost the task: what became of it, if that is known by now. */
  async #abandoned(error: ImggenError): Promise<TaskReport> {
    await this.#held.leave();
    const knownReport = { ...taskFacts(this.#task), warnings: [...this.#warnings], error };
    const entry = await this.#deps.ledger.read(this.#task.id).catch(() => null);
    if (entry?.kind !== "task") return knownReport;
    const report = taskReport(entry.task);
    if (entry.task.state === "saved") return { ...report, warnings: knownReport.warnings };
    return { ...report, warnings: knownReport.warnings, error };
  }
}

/** The error of a part of the work, which must not end the rest. @throws any other error: a bug */
function expected(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  throw error;
}

/** Whether images are left to be saved, or the end of the task to be recorded. */
function isUnsavedOrUnrecorded(task: Task, { destination }: Goal): boolean {
  const isOtherPlace = destination !== null && !isSameDestination(destination, task.intent.destination);
  const isOnlyLost = !isUnsaved(task) && task.requests.some(({ state }) => state === "unknown");
  return isOtherPlace || !isOnlyLost;
}

/** Warning if another version of a package continues a task than began it. */
function otherPackage({ intent }: Task, { connection }: TaskDeps): string[] {
  const beganWith = intent.options.package;
  const now = connection.generator?.package;
  if (beganWith === undefined || now === undefined || beganWith === now) return [];
  return [`The task was begun with ${beganWith}, and is continued with ${now}.`];
}

/** Records the end of a task without an image, of which nothing was sent, and leaves it. */
export async function closeUnsent(
  heldTask: HeldTask,
  why: string,
  deps: Pick<TaskDeps, "clock">,
): Promise<void> {
  const at = isoTime(deps.clock.now());
  for (const [request, { state }] of heldTask.task.requests.entries())
    if (state === "waiting") await heldTask.record({ type: "not_sent", at, why, request });
  await heldTask.leave();
}
