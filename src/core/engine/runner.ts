import type { Clock } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import { InterruptedError } from "../../lib/interrupted.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Task } from "../../task/task.ts";
import { isAccountError } from "../errors.ts";
import { POLICY } from "../limits/policy.ts";
import { type ClaimedTask, claimTask } from "./claimed-task.ts";
import type { TaskDeps } from "./deps.ts";
import { closeUnsent, driveTask } from "./drive.ts";
import type { TaskProgressEvent } from "./events.ts";
import { isAtEnd, QueuedTask, type RunnerTask } from "./queued-task.ts";

export type RunDeps = Pick<TaskDeps, "signal" | "onProgress" | "keeping">;

export interface RunnerOptions {
  /** Maximum number of running tasks that the provider has not accepted yet. */
  maxSending: number;
  /** Grace period for requests in flight when the runner is closed, in milliseconds. */
  graceMs: number;
  ledger: Ledger;
  clock: Clock;
  server: string;
  /** Returns the dependencies for one run of a task. All runs must share one gate. */
  depsFor: (run: RunDeps) => TaskDeps;
  onEnded: (task: Task) => void;
  /** Called if an error of the disk, or a bug, delays a task. */
  onFailed: (task: Task, why: string) => void;
}

/** Maximum number of running tasks, including tasks that are only polled. */
const MAX_RUNNING = 500;
/** Number of ended tasks that stay in memory, so that clients can read their state. */
const MAX_ENDED_TASKS = 2_000;
/**
 * Maximum wait for a task to join its provider's queue. The next task starts only afterwards, so that the oldest task is
 * submitted first.
 */
const MAX_QUEUING_MS = 1_000;
const IDLE_MS = 60_000;

/** Runs tasks until they end, oldest first, with a limited number at once. */
export class Runner {
  readonly #options: RunnerOptions;
  /** Keys are the ids that users see. */
  readonly #tasks = new Map<string, QueuedTask>();
  /** Unfinished tasks, ordered by ledger id and thus by time of creation. */
  readonly #open: QueuedTask[] = [];
  readonly #ended: string[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #graceEnd = new AbortController();
  #wake = new AbortController();
  #working: Promise<void> | null = null;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Adds an unfinished task unless it was added before. @param isPaused whether to submit nothing until `resume` */
  take(task: Task, isPaused = false): void {
    const entry = new QueuedTask(task);
    if (this.#tasks.has(entry.name)) return;
    if (isPaused) entry.pause.abort(new InterruptedError(null));
    const after = this.#open.findLastIndex((each) => each.task.id < task.id);
    this.#open.splice(after + 1, 0, entry);
    this.#tasks.set(entry.name, entry);
    this.#wake.abort();
    this.#working ??= this.#work();
  }

  find(taskId: string): RunnerTask | null {
    return this.#tasks.get(taskId) ?? null;
  }

  get open(): readonly RunnerTask[] {
    return this.#open;
  }

  /** Number of tasks with a request in flight. */
  get inFlight(): number {
    return this.#open.filter(({ isSubmitted, isAccepted }) => isSubmitted && !isAccepted).length;
  }

  /** Number of tasks ahead of an unfinished task: in this runner or in the provider's queue, whichever is larger. */
  countAhead(taskId: string): number {
    const at = this.#open.findIndex(({ name }) => name === taskId);
    return Math.max(0, at, this.#open[at]?.waiting?.ahead ?? 0);
  }

  /** Stops submitting requests of a task until `resume`. Requests that were submitted before still finish. */
  pause(taskId: string): void {
    this.#tasks.get(taskId)?.pause.abort(new InterruptedError(null));
  }

  /** Continues a task at once, even if the task is paused or waits for its next attempt. */
  resume(taskId: string): void {
    const entry = this.#tasks.get(taskId);
    if (entry === undefined || entry.dropReason !== null) return;
    if (entry.pause.signal.aborted) entry.pause = new AbortController();
    Object.assign(entry, { error: null, failures: 0, notBeforeMs: 0 });
    this.#wake.abort();
  }

  /** Ends a task's unsent requests, even if the maximum number of tasks is running. @param why reason as a clause */
  drop(taskId: string, why: string): void {
    const entry = this.#tasks.get(taskId);
    const isWaiting = entry?.task.requests.some(({ state }) => state === "waiting");
    if (entry === undefined || entry.dropReason !== null || !isWaiting) return;
    Object.assign(entry, { dropReason: why, notBeforeMs: 0 });
    this.pause(taskId);
    this.#wake.abort();
  }

  /** Marks tasks as ended that another process has ended. @throws StateFolderError */
  async noteEnded(): Promise<void> {
    const { ledger } = this.#options;
    for (const entry of this.#open.filter(({ isIdle, task }) => isIdle && !ledger.isOpen(task.id))) {
      const ledgerEntry = await ledger.read(entry.task.id);
      if (ledgerEntry?.kind !== "task" || !isAtEnd(ledgerEntry.task) || !entry.isIdle || entry.isEnded)
        continue;
      entry.task = ledgerEntry.task;
      this.#end(entry);
    }
  }

  /** Starts no more tasks, and waits until all runs have stopped. Waiting tasks stay in the ledger. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#options;
    this.#closing.abort(new InterruptedError(null));
    this.#wake.abort();
    const workEnd = new AbortController();
    const grace = clock.sleep(graceMs, workEnd.signal).then(
      () => this.#graceEnd.abort(new InterruptedError(null)),
      () => {},
    );
    await this.#working;
    await Promise.all(this.#running);
    workEnd.abort();
    await grace;
  }

  async #work(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const next = this.#next();
      if (next === undefined) await this.#waitForWork();
      else await this.#begin(next);
    }
  }

  #next(): QueuedTask | undefined {
    const { clock, maxSending } = this.#options;
    const sendingCount = this.#open.filter(({ run, isAccepted }) => run !== null && !isAccepted).length;
    const hasCapacity = sendingCount < maxSending && this.#running.size < MAX_RUNNING;
    const nowMs = clock.monotonicMs();
    const dueTasks = this.#open.filter((each) => each.isIdle && each.notBeforeMs <= nowMs);
    return dueTasks.find(({ dropReason, hasWork }) => dropReason !== null || (hasCapacity && hasWork));
  }

  async #waitForWork(): Promise<void> {
    if (this.#wake.signal.aborted) {
      this.#wake = new AbortController();
      return;
    }
    const { clock } = this.#options;
    const idleTasks = this.#open.filter(
      ({ isIdle, hasWork, dropReason }) => isIdle && (hasWork || dropReason !== null),
    );
    const soonestMs = Math.min(...idleTasks.map(({ notBeforeMs }) => notBeforeMs)) - clock.monotonicMs();
    const ms = soonestMs > 0 ? Math.min(soonestMs, IDLE_MS) : IDLE_MS;
    await clock.sleep(ms, this.#wake.signal).catch(() => {});
  }

  /** Starts a run. Resolves when the task has joined its provider's queue, at the latest after `MAX_QUEUING_MS`. */
  async #begin(entry: QueuedTask): Promise<void> {
    const { clock } = this.#options;
    const queued = new Promise<void>((resolve) => {
      entry.onQueued = resolve;
    });
    const run = this.#run(entry)
      .catch((error: unknown) => this.#handleFailure(entry, error))
      .finally(() => {
        this.#running.delete(run);
        entry.reset();
        this.#wake.abort();
      });
    entry.run = run;
    this.#running.add(run);
    const raceEnd = new AbortController();
    await Promise.race([queued, clock.sleep(MAX_QUEUING_MS, raceEnd.signal).catch(() => {})]);
    raceEnd.abort();
  }

  async #run(entry: QueuedTask): Promise<void> {
    const { signal } = this.#closing;
    const hasRun =
      entry.dropReason === null ? await this.#drive(entry, signal) : await this.#endUnsent(entry);
    if (!hasRun) return this.#forget(entry);
    // An image that was completed within the grace period is saved too.
    const isUnsaved = entry.task.state === "completed" && !isAtEnd(entry.task);
    if (signal.aborted && isUnsaved) await this.#drive(entry, this.#graceEnd.signal);
    if (isAtEnd(entry.task)) this.#end(entry);
    else this.#delay(entry);
  }

  /** @returns false if another process has claimed the task */
  async #drive(entry: QueuedTask, signal: AbortSignal): Promise<boolean> {
    const { depsFor, graceMs, ledger } = this.#options;
    const onProgress = (event: TaskProgressEvent) => {
      entry.handleEvent(event);
      // The provider has accepted the task, so the next task can start.
      if (event.type === "waiting") this.#wake.abort();
    };
    const deps = depsFor({ signal, onProgress, keeping: { graceMs, pause: entry.pause.signal } });
    const claimedTask = await this.#claim(entry);
    if (claimedTask === "claimed") return false;
    if (claimedTask !== "ended") {
      const report = await driveTask(claimedTask, GOAL, [], deps).catch(async (error: unknown) => {
        // The claim is released even after a bug, so that the task can be continued.
        await claimedTask.release();
        throw error;
      });
      entry.error = report.error;
      for (const warning of report.warnings) entry.warnings.add(warning);
    }
    const ledgerEntry = await ledger.read(entry.task.id);
    if (ledgerEntry?.kind !== "task") throw new Error("its file cannot be read");
    entry.task = ledgerEntry.task;
    return true;
  }

  /** Ends the unsent requests of a dropped task. @returns false if another process has claimed the task */
  async #endUnsent(entry: QueuedTask): Promise<boolean> {
    const claimedTask = await this.#claim(entry);
    if (claimedTask === "claimed") return false;
    if (claimedTask !== "ended") {
      await closeUnsent(claimedTask, entry.dropReason ?? "", this.#options);
      entry.task = claimedTask.task;
    }
    entry.dropReason = null;
    this.resume(entry.name);
    return true;
  }

  async #claim(entry: QueuedTask): Promise<ClaimedTask | "claimed" | "ended"> {
    const { ledger, server, onFailed } = this.#options;
    const claimedTask = await claimTask(
      entry.task,
      ledger,
      (warning) => onFailed(entry.task, warning),
      server,
    );
    if (typeof claimedTask !== "string") Object.assign(entry, { claimedTask, task: claimedTask.task });
    return claimedTask;
  }

  #delay(entry: QueuedTask): void {
    // An account error needs no delay, because the gate makes the task wait until the account is usable again.
    if (entry.error !== null && isAccountError(entry.error)) return;
    const waitsMs = POLICY.serverOutage.unsent;
    const waitMs = waitsMs[entry.failures] ?? waitsMs.at(-1) ?? 0;
    entry.notBeforeMs = this.#options.clock.monotonicMs() + waitMs;
    entry.failures += 1;
  }

  #handleFailure(entry: QueuedTask, error: unknown): void {
    if (entry.failures === 0) this.#options.onFailed(entry.task, errorText(error));
    entry.error = null;
    this.#delay(entry);
  }

  #end(entry: QueuedTask): void {
    this.#remove(entry);
    entry.isEnded = true;
    this.#ended.push(entry.name);
    if (this.#ended.length > MAX_ENDED_TASKS) this.#tasks.delete(this.#ended.shift() ?? "");
    this.#options.onEnded(entry.task);
  }

  #forget(entry: QueuedTask): void {
    this.#remove(entry);
    this.#tasks.delete(entry.name);
  }

  #remove(entry: QueuedTask): void {
    const at = this.#open.indexOf(entry);
    if (at !== -1) this.#open.splice(at, 1);
  }
}

const GOAL = {
  sends: true,
  wait: { timeoutMs: null, schedule: null },
  destination: null,
  isContinued: true,
} as const;
