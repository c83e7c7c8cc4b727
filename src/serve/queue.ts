import { InterruptedError } from "../core/errors.ts";
import type { AdmittedRequests } from "../core/limits/admission.ts";
import { errorText } from "../lib/error-text.ts";
import type { ImggenError } from "../lib/error-types.ts";
import type { Task } from "../task/task.ts";
import { endOf, type TaskEnd } from "./end.ts";
import { type Entry, noteProgress } from "./queue-entry.ts";
import { refuseWaiting } from "./refuse-waiting.ts";
import { type RunDeps, runTask } from "./run-task.ts";
import { TaskList } from "./task-list.ts";

/** Tasks begun beyond the generator's concurrency, so that the next one is ready when a place is free. */
const MORE_PLACES = 2;

/** Delays before a task is tried again that made no progress, by how often that happened in a row. */
const AGAIN_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

/** How long the next task waits for the one before it to take its place in the line. */
const PLACED_MS = 1_000;

const IDLE_MS = 60_000;

/** The most tasks at work at once, including those that are only polled at their provider. */
const MOST_RUNNING = 500;

/** The tasks that a server has before it, oldest first. A few are worked on; the others wait, as their files say. */
export class Queue extends TaskList {
  readonly #deps: RunDeps;
  readonly #places: number;
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Ends what is still at work after the grace. */
  readonly #saving = new AbortController();
  #wake = new AbortController();
  #pumping: Promise<void> | null = null;

  constructor(deps: RunDeps) {
    super();
    this.#deps = deps;
    this.#places = deps.concurrency + MORE_PLACES;
  }

  start(): void {
    this.#pumping ??= this.#pump();
  }

  override add(record: Task): void {
    super.add(record);
    this.#wake.abort();
  }

  /**
   * Ends a task before its first request, if its client will not ask for it again.
   * @returns whether it was ended
   */
  async refuse(taskId: string, error: ImggenError): Promise<boolean> {
    const entry = this.entryOf(taskId);
    if (entry === undefined || entry.isRunning) return false;
    entry.isRunning = true;
    try {
      const record = await refuseWaiting(entry.record, error, this.#deps.ledger);
      const end = record && endOf(record);
      if (record === null || end === null) return false;
      entry.record = record;
      this.#finish(entry, end);
      return true;
    } finally {
      entry.isRunning = false;
      // The queue may have found nothing to begin meanwhile.
      this.#wake.abort();
    }
  }

  /** Ends waiting tasks that another command has ended. @throws StateFolderError */
  async noteEnded(): Promise<void> {
    for (const entry of this.idle().filter(({ record }) => !this.#deps.ledger.isOpen(record.id))) {
      const read = await this.#deps.ledger.read(entry.record.id);
      const end = read?.kind === "task" ? endOf(read.record) : null;
      if (read?.kind !== "task" || end === null || entry.isRunning) continue;
      entry.record = read.record;
      this.#finish(entry, end);
    }
  }

  /**
   * Begins nothing new, and waits for what is at work; what waits stays waiting.
   * @param onWait called with the number of requests that are waited for, if there are any
   */
  async close(onWait: (count: number) => void): Promise<void> {
    const sent = this.entries.filter(({ isSent, isAwaited }) => isSent && !isAwaited).length;
    this.#closing.abort(new InterruptedError(null));
    this.#wake.abort();
    if (sent > 0 && this.#deps.graceMs > 0) onWait(sent);
    const over = new AbortController();
    const grace = this.#deps.clock.sleep(this.#deps.graceMs, over.signal).then(
      () => this.#saving.abort(new InterruptedError(null)),
      () => {},
    );
    await this.#pumping;
    await Promise.all(this.#running);
    over.abort();
    await grace;
  }

  async #pump(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      if (this.#next() === undefined) {
        await this.#pause();
        continue;
      }
      const pass = await this.#deps.admission.admit(signal).catch(() => null);
      const entry = signal.aborted ? undefined : this.#next();
      // The next one comes after it in the line, so that the oldest is sent first.
      if (pass !== null && entry !== undefined) await this.#begin(entry, pass);
      else pass?.release();
    }
  }

  /** The oldest task that may be begun now. */
  #next(): Entry | undefined {
    const placed = this.entries.filter(({ isRunning, isAwaited }) => isRunning && !isAwaited).length;
    if (placed >= this.#places || this.#running.size >= MOST_RUNNING) return undefined;
    const nowMs = this.#deps.clock.monotonicMs();
    return this.entries.find((entry) => !entry.isRunning && entry.notBeforeMs <= nowMs);
  }

  /** Waits until something changes, or a task may be tried again. */
  async #pause(): Promise<void> {
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
    else {
      const { clock } = this.#deps;
      const soonestMs = Math.min(...this.idle().map(({ notBeforeMs }) => notBeforeMs)) - clock.monotonicMs();
      const ms = soonestMs > 0 ? Math.min(soonestMs, IDLE_MS) : IDLE_MS;
      await clock.sleep(ms, this.#wake.signal).catch(() => {});
    }
  }

  /** @returns once it has its place in the line, or after a moment: what was sent before may be waited for */
  async #begin(entry: Entry, pass: AdmittedRequests): Promise<void> {
    entry.isRunning = true;
    const placed = new Promise<void>((resolve) => {
      entry.onPlaced = resolve;
    });
    entry.begunMs ||= this.#deps.clock.monotonicMs();
    const run = this.#run(entry, pass)
      .catch((error: unknown) => this.#drop(entry, errorText(error)))
      .finally(() => {
        this.#running.delete(run);
        pass.release();
        entry.onPlaced();
        Object.assign(entry, { isRunning: false, isSent: false, isAwaited: false, share: null, line: null });
        this.#wake.abort();
      });
    this.#running.add(run);
    const over = new AbortController();
    await Promise.race([placed, this.#deps.clock.sleep(PLACED_MS, over.signal).catch(() => {})]);
    over.abort();
  }

  async #run(entry: Entry, pass: AdmittedRequests): Promise<void> {
    const { ledger } = this.#deps;
    const { id } = entry.record;
    const report = await this.#take(entry, pass, this.#closing.signal);
    if (report === "elsewhere") return this.leave(entry);
    let read = await ledger.read(id);
    // Made within the grace: it is saved too.
    if (this.#closing.signal.aborted && read?.kind === "task" && read.record.state.name === "completed") {
      entry.record = read.record;
      await this.#take(entry, pass, this.#saving.signal);
      read = await ledger.read(id);
    }
    if (read?.kind !== "task") return this.#drop(entry, "its file cannot be read");
    entry.record = read.record;
    const end = endOf(read.record);
    if (end !== null) this.#finish(entry, end);
    else this.#again(entry);
  }

  async #take(entry: Entry, pass: AdmittedRequests, signal: AbortSignal) {
    return runTask(
      entry.record,
      {
        pass,
        signal,
        onProgress: (event) => {
          noteProgress(entry, event);
          // Its place is free: the provider has the task.
          if (event.type === "waiting") this.#wake.abort();
        },
      },
      this.#deps,
    );
  }

  #again(entry: Entry): void {
    const { admission, clock } = this.#deps;
    // Those that the generator keeps waiting, all of them, wait for admission.
    if (admission.breaker.isDown || admission.rateLimiter.leftMs > 0) return;
    entry.notBeforeMs = clock.monotonicMs() + (AGAIN_MS[entry.failures] ?? IDLE_MS / 2);
    entry.failures += 1;
  }

  #finish(entry: Entry, end: TaskEnd): void {
    this.end(entry);
    const ms = this.#deps.clock.monotonicMs() - entry.begunMs;
    const { record } = entry;
    this.#deps.onEvent?.({ kind: "ended", record, end, ms, waiting: this.entries.length });
  }

  /** The disk, or a bug, keeps it from being worked on for now. */
  #drop(entry: Entry, why: string): void {
    if (entry.failures === 0) this.#deps.onEvent?.({ kind: "dropped", taskId: entry.taskId, why });
    this.#again(entry);
  }
}
