import type { Clock } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import { InterruptedError } from "../../lib/interrupted.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { Task } from "../../task/task.ts";
import { isOfAccount } from "../errors.ts";
import { POLICY } from "../limits/policy.ts";
import type { TaskDeps } from "./deps.ts";
import { closeUnsent, drive } from "./drive.ts";
import type { TaskProgressEvent } from "./events.ts";
import { type HeldTask, holdTask } from "./held.ts";
import { isAtEnd, QueuedTask, type RunnerTask } from "./queued-task.ts";

/** Facts that differ between runs of a task. */
export type RunDeps = Pick<TaskDeps, "signal" | "onProgress" | "keeping">;

export interface RunnerOptions {
  /** Maximum number of tasks at work that their provider has not accepted. The others wait, as their files say. */
  maxSending: number;
  /** Grace period for replies to requests in flight when the runner is closed, in milliseconds. */
  graceMs: number;
  ledger: Ledger;
  clock: Clock;
  /** As of `Ledger.take`. */
  server: string;
  /** Dependencies of one run. All runs must share one gate. */
  depsFor: (run: RunDeps) => TaskDeps;
  /** Called when a task is at its end. */
  onEnded: (task: Task) => void;
  /** Called if the disk, or a bug, keeps a task from being continued for now. */
  onFailed: (task: Task, why: string) => void;
}

/** Maximum number of tasks at work, including those that are only polled. */
const MAX_RUNNING = 500;
/** Number of ended tasks that are kept in memory, for those who ask. */
const MAX_ENDED = 2_000;
/** Maximum wait of a task for the one before it to be queued at the provider, so that the oldest is submitted first. */
const MAX_ORDER_MS = 1_000;
const IDLE_MS = 60_000;

/** Takes tasks to their ends, oldest first, a few at once. */
export class Runner {
  readonly #options: RunnerOptions;
  /** By the id that users know. */
  readonly #tasks = new Map<string, QueuedTask>();
  /** Unfinished tasks, sorted by the ledger's ids, which is the order of their submits. */
  readonly #open: QueuedTask[] = [];
  readonly #ended: string[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Ends what is still at work after the grace period. */
  readonly #over = new AbortController();
  #wake = new AbortController();
  #working: Promise<void> | null = null;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Adds an unfinished task, unless the runner has or had it. @param isPaused as of `pause` */
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

  /** A task that is here, or has ended here lately. @param taskId as of `taskIdOf` */
  find(taskId: string): RunnerTask | null {
    return this.#tasks.get(taskId) ?? null;
  }

  /** The unfinished tasks that are here, oldest first. */
  get open(): readonly RunnerTask[] {
    return this.#open;
  }

  /** Number of requests in flight: submitted, no reply yet. */
  get inFlight(): number {
    return this.#open.filter(({ isSubmitted, isAccepted }) => isSubmitted && !isAccepted).length;
  }

  /** Number of tasks before an unfinished one: here, or in the queue of the provider. */
  countAhead(taskId: string): number {
    const at = this.#open.findIndex(({ name }) => name === taskId);
    return Math.max(0, at, this.#open[at]?.waiting?.ahead ?? 0);
  }

  /** Submits nothing more of a task, until it is resumed. What was submitted is finished. */
  pause(taskId: string): void {
    this.#tasks.get(taskId)?.pause.abort(new InterruptedError(null));
  }

  /** Goes on with a task at once that was paused, or that waits for another try. */
  resume(taskId: string): void {
    const entry = this.#tasks.get(taskId);
    if (entry === undefined || entry.dropped !== null) return;
    if (entry.pause.signal.aborted) entry.pause = new AbortController();
    Object.assign(entry, { error: null, failures: 0, notBeforeMs: 0 });
    this.#wake.abort();
  }

  /** Ends what was not submitted of a task, which no place must be free for. @param why a clause */
  drop(taskId: string, why: string): void {
    const entry = this.#tasks.get(taskId);
    const isWaiting = entry?.task.requests.some(({ state }) => state === "waiting");
    if (entry === undefined || entry.dropped !== null || !isWaiting) return;
    Object.assign(entry, { dropped: why, notBeforeMs: 0 });
    this.pause(taskId);
    this.#wake.abort();
  }

  /** Ends tasks that another process has ended. @throws StateFolderError */
  async noteEnded(): Promise<void> {
    const { ledger } = this.#options;
    for (const entry of this.#open.filter(({ isIdle, task }) => isIdle && !ledger.isOpen(task.id))) {
      const read = await ledger.read(entry.task.id);
      if (read?.kind !== "task" || !isAtEnd(read.task) || !entry.isIdle || entry.isEnded) continue;
      entry.task = read.task;
      this.#end(entry);
    }
  }

  /** Begins nothing new, and waits for what is at work. What waits stays in the ledger. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#options;
    this.#closing.abort(new InterruptedError(null));
    this.#wake.abort();
    const done = new AbortController();
    const grace = clock.sleep(graceMs, done.signal).then(
      () => this.#over.abort(new InterruptedError(null)),
      () => {},
    );
    await this.#working;
    await Promise.all(this.#running);
    done.abort();
    await grace;
  }

  async #work(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const next = this.#next();
      if (next === undefined) await this.#pause();
      else await this.#begin(next);
    }
  }

  /** The oldest task that may be begun now, or ended. */
  #next(): QueuedTask | undefined {
    const { clock, maxSending } = this.#options;
    const sending = this.#open.filter(({ run, isAccepted }) => run !== null && !isAccepted).length;
    const isFree = sending < maxSending && this.#running.size < MAX_RUNNING;
    const nowMs = clock.monotonicMs();
    const due = this.#open.filter((each) => each.isIdle && each.notBeforeMs <= nowMs);
    return due.find(({ dropped, hasWork }) => dropped !== null || (isFree && hasWork));
  }

  /** Waits until something changes, or a task may be tried again. */
  async #pause(): Promise<void> {
    if (this.#wake.signal.aborted) {
      this.#wake = new AbortController();
      return;
    }
    const { clock } = this.#options;
    const idle = this.#open.filter(({ isIdle, hasWork, dropped }) => isIdle && (hasWork || dropped !== null));
    const soonestMs = Math.min(...idle.map(({ notBeforeMs }) => notBeforeMs)) - clock.monotonicMs();
    const ms = soonestMs > 0 ? Math.min(soonestMs, IDLE_MS) : IDLE_MS;
    await clock.sleep(ms, this.#wake.signal).catch(() => {});
  }

  /** @returns once the task is queued at its provider or needs no turn there; or after a while */
  async #begin(entry: QueuedTask): Promise<void> {
    const { clock } = this.#options;
    const queued = new Promise<void>((resolve) => {
      entry.onQueued = resolve;
    });
    const run = this.#run(entry)
      .catch((error: unknown) => this.#failed(entry, error))
      .finally(() => {
        this.#running.delete(run);
        entry.rest();
        this.#wake.abort();
      });
    entry.run = run;
    this.#running.add(run);
    const done = new AbortController();
    await Promise.race([queued, clock.sleep(MAX_ORDER_MS, done.signal).catch(() => {})]);
    done.abort();
  }

  /** Takes a task as far as it goes now. */
  async #run(entry: QueuedTask): Promise<void> {
    const { signal } = this.#closing;
    const isHere = entry.dropped === null ? await this.#drive(entry, signal) : await this.#close(entry);
    if (!isHere) return this.#forget(entry);
    // Made within the grace period: it is saved too.
    const isUnsaved = entry.task.state === "completed" && !isAtEnd(entry.task);
    if (signal.aborted && isUnsaved) await this.#drive(entry, this.#over.signal);
    if (isAtEnd(entry.task)) this.#end(entry);
    else this.#delay(entry);
  }

  /** @returns false if another process has the task */
  async #drive(entry: QueuedTask, signal: AbortSignal): Promise<boolean> {
    const { depsFor, graceMs, ledger } = this.#options;
    const onProgress = (event: TaskProgressEvent) => {
      entry.note(event);
      // Its place is free: the provider has accepted it.
      if (event.type === "waiting") this.#wake.abort();
    };
    const deps = depsFor({ signal, onProgress, keeping: { graceMs, pause: entry.pause.signal } });
    const heldTask = await this.#hold(entry);
    if (heldTask === "held") return false;
    if (heldTask !== "ended") {
      const report = await drive(heldTask, GOAL, [], deps).catch(async (error: unknown) => {
        // After a bug it is not held by a run that is over.
        await heldTask.leave();
        throw error;
      });
      entry.error = report.error;
    }
    const read = await ledger.read(entry.task.id);
    if (read?.kind !== "task") throw new Error("its file cannot be read");
    entry.task = read.task;
    return true;
  }

  /** Ends what was not submitted. @returns false if another process has the task */
  async #close(entry: QueuedTask): Promise<boolean> {
    const heldTask = await this.#hold(entry);
    if (heldTask === "held") return false;
    if (heldTask !== "ended") {
      await closeUnsent(heldTask, entry.dropped ?? "", this.#options);
      entry.task = heldTask.task;
    }
    entry.dropped = null;
    this.resume(entry.name);
    return true;
  }

  async #hold(entry: QueuedTask): Promise<HeldTask | "held" | "ended"> {
    const { ledger, server, onFailed } = this.#options;
    const heldTask = await holdTask(entry.task, ledger, (warning) => onFailed(entry.task, warning), server);
    if (typeof heldTask !== "string") entry.task = heldTask.task;
    return heldTask;
  }

  /** Puts a task back that came to no end. */
  #delay(entry: QueuedTask): void {
    // The gate holds it back, and must find it there when the account is in order.
    if (entry.error !== null && isOfAccount(entry.error)) return;
    const waitsMs = POLICY.serverOutage.unsent;
    const waitMs = waitsMs[entry.failures] ?? waitsMs.at(-1) ?? 0;
    entry.notBeforeMs = this.#options.clock.monotonicMs() + waitMs;
    entry.failures += 1;
  }

  #failed(entry: QueuedTask, error: unknown): void {
    if (entry.failures === 0) this.#options.onFailed(entry.task, errorText(error));
    entry.error = null;
    this.#delay(entry);
  }

  #end(entry: QueuedTask): void {
    this.#remove(entry);
    entry.isEnded = true;
    this.#ended.push(entry.name);
    if (this.#ended.length > MAX_ENDED) this.#tasks.delete(this.#ended.shift() ?? "");
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
