import type { Runner } from "../core/engine/runner.ts";
import type { Clock } from "../lib/clock.ts";
import type { Task } from "../task/task.ts";
import { displayId } from "../task/task.ts";
import type { Call, Calls } from "./call-records.ts";

/** Time that a call without an Idempotency-Key waits for a retry of its client, in milliseconds. */
const MAX_ABSENCE_MS = 10_000;

/** Maximum time that clients of ended tasks have to take their answers from a server that is closed, in milliseconds. */
const MAX_ANSWER_MS = 2_000;
const CHECK_MS = 20;

const GONE_REASON = "its client was gone before it was sent";

interface ClientsDeps {
  calls: Calls;
  runner: Runner;
  clock: Pick<Clock, "sleep" | "monotonicMs">;
}

/**
 * The clients that wait for images here. A call without an Idempotency-Key is sent only while a client of it waits, in the
 * process in which it does, and dropped if none comes back in time.
 */
export class Clients {
  readonly #deps: ClientsDeps;
  /** Number of clients that wait for a task. */
  readonly #waiting = new Map<string, number>();
  /** Tasks whose clients are gone. Aborts when one comes back. */
  readonly #gone = new Map<string, AbortController>();
  readonly #closing = new AbortController();

  constructor(deps: ClientsDeps) {
    this.#deps = deps;
  }

  /** Whether a task is not to be sent, because its client is gone. */
  areGone(taskId: string): boolean {
    return this.#gone.has(taskId);
  }

  areWaiting(taskId: string): boolean {
    return this.#waiting.has(taskId);
  }

  /** Notes that a client waits for a call's task, until it has its answer or hangs up. @returns notes that it has its answer */
  join(call: Call, gone: AbortSignal): () => void {
    const { calls, runner } = this.#deps;
    const { taskId } = call;
    this.#waiting.set(taskId, this.#count(taskId) + 1);
    this.#gone.get(taskId)?.abort();
    this.#gone.delete(taskId);
    calls.note(call, "waits");
    runner.resume(taskId);
    let isOver = false;
    const endWait = (how: "left" | "delivered") => {
      if (isOver) return;
      isOver = true;
      this.#waiting.set(taskId, this.#count(taskId) - 1);
      if (this.#count(taskId) === 0) this.#waiting.delete(taskId);
      calls.note(call, how);
      if (how === "left" && !call.hasKey && !this.#waiting.has(taskId)) void this.#awaitReturn(call);
    };
    if (gone.aborted) endWait("left");
    else gone.addEventListener("abort", () => endWait("left"), { once: true });
    return () => endWait("delivered");
  }

  /** Has the runner take a task of an earlier process, unless its client waits in another one that lives. */
  async adopt(task: Task): Promise<void> {
    const { calls, runner } = this.#deps;
    const name = task.intent.call;
    const taskId = displayId(task);
    const call = name === undefined ? null : await calls.find(name);
    const isHere = this.areWaiting(taskId);
    if (call !== null && !isHere && calls.waitsElsewhere(call)) return;
    // Without a record no retry finds it.
    if (name !== undefined && !isHere && call?.hasKey !== true && !this.#gone.has(taskId))
      void this.#awaitReturn({ name, taskId });
    runner.take(task, this.areGone(taskId));
  }

  /** Stops dropping calls: the next process decides. */
  close(): void {
    this.#closing.abort();
  }

  /** Waits until the clients of ended tasks have their answers, for a moment at most. */
  async answered(): Promise<void> {
    const { runner, clock } = this.#deps;
    const untilMs = clock.monotonicMs() + MAX_ANSWER_MS;
    const hasEnded = (taskId: string) => runner.find(taskId)?.isEnded === true;
    while ([...this.#waiting.keys()].some(hasEnded) && clock.monotonicMs() < untilMs)
      await clock.sleep(CHECK_MS);
  }

  #count(taskId: string): number {
    return this.#waiting.get(taskId) ?? 0;
  }

  async #awaitReturn({ name, taskId }: Pick<Call, "name" | "taskId">): Promise<void> {
    const { calls, runner, clock } = this.#deps;
    const back = new AbortController();
    this.#gone.set(taskId, back);
    runner.pause(taskId);
    const signal = AbortSignal.any([back.signal, this.#closing.signal]);
    for (;;) {
      await clock.sleep(MAX_ABSENCE_MS, signal).catch(() => {});
      if (signal.aborted) return;
      const call = await calls.find(name);
      if (signal.aborted) return;
      if (call === null || !calls.waitsElsewhere(call)) break;
    }
    runner.drop(taskId, GONE_REASON);
    if (this.#gone.get(taskId) === back) this.#gone.delete(taskId);
  }
}
