import path from "node:path";
import type { Claim } from "../../lib/claim.ts";
import { errorText } from "../../lib/error-text.ts";
import { Admission } from "./admission.ts";
import type { QueueContext } from "./context.ts";
import { Entries, type Entry, type QueueView, type RunningPhase, viewOf } from "./entries.ts";
import { isLate, isPaidTask, makeImages } from "./make-image.ts";
import { GivenUpError } from "./request-end.ts";
import type { Slot, SlotResult } from "./slots.ts";
import type { TaskFolder } from "./task-folder.ts";
import { type EndedState, isEnded, mayBeSent } from "./task-state.ts";
import { WaitQueue } from "./wait-queue.ts";

/** Tasks of other processes are before it. */
const NOT_FIRST: SlotResult = { slot: null, none: "taken" };

/** How often to look whether a slot that another process has is free, in milliseconds. */
const TURN_MS = 200;
/** Waking up for nothing does no harm. */
const LONGEST_REST_MS = 3_600_000;
/** Before a request is sent again that may have reached the generator. */
const RETRY_MS = 1_000;

/**
 * The tasks that this process has claimed, and the loop that takes them to the generator, the oldest first. A slot is for
 * a whole task, whose images are made one after the other.
 */
export class Queue {
  readonly #context: QueueContext;
  readonly #admission: Admission;
  readonly #waitQueue: WaitQueue;
  readonly #entries = new Entries();
  /** Why the oldest task that waits has no slot, as it was when one was last asked for. */
  #noSlot: SlotResult["none"] = null;
  #wakeUp = new AbortController();
  #loop: Promise<void> | null = null;

  constructor(context: QueueContext) {
    this.#context = context;
    this.#admission = new Admission(context);
    this.#waitQueue = new WaitQueue(path.join(context.folder, "waiting"), context.clock);
  }

  /** Takes a task in, with the claim on it. One that comes while the queue closes is left to other processes. */
  async add(folder: TaskFolder, claim: Claim): Promise<void> {
    if (this.#isClosing) return claim.release();
    this.#entries.add({ folder, claim, isHeld: false, phase: { name: "waiting", notBeforeMs: 0 } });
    this.#admission.onNewTask();
    this.#loop ??= this.#run();
    this.#wake();
  }

  has(taskId: string): boolean {
    return this.#entries.get(taskId) !== undefined;
  }

  /**
   * Keeps a task that waits from being begun, until it is polled again.
   * @returns whether a request of it may have been sent; so it may by another process, if the task is not this queue's
   */
  hold(taskId: string): boolean {
    const entry = this.#entries.get(taskId);
    if (entry?.phase.name !== "waiting") return true;
    entry.isHeld = true;
    return mayBeSent(entry.folder.state);
  }

  /** Where a task stands, for who waits for it; null if it is not one of this queue's. */
  poll(taskId: string): QueueView | null {
    const entry = this.#entries.get(taskId);
    if (entry === undefined) return null;
    if (entry.isHeld) this.#wake();
    entry.isHeld = false;
    const { condition } = this.#admission;
    const ahead = this.#entries.countBefore(entry);
    return viewOf(entry, { condition, ahead, noSlot: this.#noSlot });
  }

  /**
   * Begins nothing new, and leaves the tasks that wait to other processes. Without a grace, free requests are given up at
   * once and paid ones are waited for; with one, all are waited for so long, and then given up.
   * @param onWait called with the number of requests that are waited for, if there are any
   */
  async close(onWait: (count: number) => void = () => {}, graceMs?: number): Promise<void> {
    this.#admission.close();
    this.#waitQueue.leave();
    this.#wake();
    const running = this.#entries.all().flatMap(({ folder, phase }) => {
      return phase.name === "running" ? [{ ...phase, isPaid: isPaidTask(folder, this.#context) }] : [];
    });
    const awaited = running.filter(({ isPaid }) => isPaid || graceMs !== undefined);
    for (const each of running) if (!awaited.includes(each)) each.giveUp.abort(new GivenUpError());
    if (awaited.length > 0) onWait(awaited.length);
    const over = new AbortController();
    if (graceMs !== undefined) this.#giveUpAfter(graceMs, awaited, over.signal);
    await Promise.all([...running.map(({ done }) => done), this.#loop]);
    over.abort();
    await this.#entries.releaseAll();
  }

  get #isClosing(): boolean {
    return this.#admission.condition.name === "closing";
  }

  #giveUpAfter(ms: number, running: readonly Pick<RunningPhase, "giveUp">[], signal: AbortSignal): void {
    this.#context.clock.sleep(ms, signal).then(
      () => {
        for (const { giveUp } of running) giveUp.abort(new GivenUpError());
      },
      () => {},
    );
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      try {
        await this.#step();
      } catch (error) {
        this.#admission.onDiskError(`The queue's folder cannot be used: ${errorText(error)}.`);
      }
    }
  }

  /** Begins the next task, or waits until that may be possible. */
  async #step(): Promise<void> {
    const next = this.#entries.next(this.#context.clock.monotonicMs());
    const delayMs = next === null ? LONGEST_REST_MS : Math.max(next.dueInMs, await this.#admission.delayMs());
    if (next !== null && delayMs === 0) return this.#tryToBegin(next.entry);
    this.#waitQueue.leave();
    await this.#rest(delayMs);
  }

  async #tryToBegin(entry: Entry): Promise<void> {
    const isFirst = this.#waitQueue.isFirst(entry.folder.task);
    const { slot, none } = isFirst ? await this.#context.slots.take() : NOT_FIRST;
    this.#noSlot = none;
    if (slot === null) return this.#rest(TURN_MS);
    this.#waitQueue.leave();
    // Whether it closes, or the wait for the task has ended, may have changed meanwhile.
    if (this.#isClosing || entry.isHeld) await slot.release();
    else this.#begin(entry, slot);
  }

  #begin(entry: Entry, slot: Slot): void {
    this.#admission.onBegin();
    const phase: RunningPhase = {
      name: "running",
      sinceMs: this.#context.clock.monotonicMs(),
      share: null,
      giveUp: new AbortController(),
      done: Promise.resolve(),
    };
    entry.phase = phase;
    phase.done = this.#work(entry, phase, slot);
  }

  /** Takes a task to the generator, and puts it where it belongs after that. Never throws. */
  async #work(entry: Entry, phase: RunningPhase, slot: Slot): Promise<void> {
    let closedForMs = 0;
    try {
      closedForMs = await this.#makeImages(entry, phase);
    } catch (error) {
      // Its next owner finds out from the disk where it stands.
      await this.#entries.release(entry).catch(() => {});
      const { taskId } = entry.folder.task;
      this.#context.onEvent?.({ kind: "dropped", taskId, why: errorText(error) });
    }
    await slot.release(closedForMs).catch(() => {});
    this.#wake();
  }

  /** @returns for how long the slot is to be closed, in milliseconds */
  async #makeImages(entry: Entry, phase: RunningPhase): Promise<number> {
    const { clock, options } = this.#context;
    const { folder } = entry;
    const last = await makeImages(folder, phase, this.#admission, this.#context);
    if (isEnded(folder.state)) await this.#finish(entry, phase, folder.state);
    else {
      const retryMs = folder.state.retries > 0 ? RETRY_MS : 0;
      entry.phase = { name: "waiting", notBeforeMs: clock.monotonicMs() + retryMs };
    }
    return isLate(last, folder, this.#context) ? options.timeoutMs : 0;
  }

  async #finish(entry: Entry, { sinceMs }: RunningPhase, state: EndedState): Promise<void> {
    const { clock, tasks, onEvent } = this.#context;
    const { folder } = entry;
    await tasks.finish(folder);
    await this.#entries.release(entry);
    const ms = clock.monotonicMs() - sinceMs;
    onEvent?.({ kind: "ended", task: folder.task, state, ms, waiting: this.#entries.size });
  }

  #wake(): void {
    this.#wakeUp.abort();
  }

  /** Waits until the queue is woken. One that was woken since the last time does not wait. */
  async #rest(ms: number): Promise<void> {
    await this.#context.clock.sleep(Math.min(ms, LONGEST_REST_MS), this.#wakeUp.signal).catch(() => {});
    this.#wakeUp = new AbortController();
  }
}
