import type { Runner } from "../core/engine/runner.ts";
import type { Clock } from "../lib/clock.ts";
import type { Task } from "../task/task.ts";
import { displayId } from "../task/task.ts";
import type { Call, Calls } from "./call-records.ts";

/** Time that a disconnected client of a call without an Idempotency-Key has to reconnect, in milliseconds. */
const MAX_ABSENCE_MS = 10_000;

const MAX_REPLY_MS = 2_000;
const CHECK_MS = 20;

const DISCONNECTED_REASON = "the client disconnected before the request was sent";

interface ClientsDeps {
  calls: Calls;
  runner: Runner;
  clock: Pick<Clock, "sleep" | "monotonicMs">;
}

/**
 * Clients that wait for images. A call without an Idempotency-Key is submitted only while a client waits.
 * If no client reconnects in time, the call's unsent requests are dropped, because no client would receive their images.
 */
export class Clients {
  readonly #deps: ClientsDeps;
  readonly #waiting = new Map<string, number>();
  /** Ids of tasks whose clients have disconnected. A task's controller aborts when a client reconnects. */
  readonly #disconnectedTasks = new Map<string, AbortController>();
  readonly #closing = new AbortController();

  constructor(deps: ClientsDeps) {
    this.#deps = deps;
  }

  /** Whether a task must not be submitted, because its client has disconnected. */
  hasAbsentClients(taskId: string): boolean {
    return this.#disconnectedTasks.has(taskId);
  }

  hasWaitingClients(taskId: string): boolean {
    return this.#waiting.has(taskId);
  }

  /** Registers a client of a call. @returns function that records the delivery of the reply */
  join(call: Call, disconnected: AbortSignal): () => void {
    const { calls, runner } = this.#deps;
    const { taskId } = call;
    this.#waiting.set(taskId, this.#count(taskId) + 1);
    this.#disconnectedTasks.get(taskId)?.abort();
    this.#disconnectedTasks.delete(taskId);
    calls.note(call, "waits");
    runner.resume(taskId);
    let hasEnded = false;
    const endWait = (outcome: "left" | "delivered") => {
      if (hasEnded) return;
      hasEnded = true;
      this.#waiting.set(taskId, this.#count(taskId) - 1);
      if (this.#count(taskId) === 0) this.#waiting.delete(taskId);
      calls.note(call, outcome);
      if (outcome === "left" && !call.hasKey && !this.#waiting.has(taskId)) void this.#awaitReconnect(call);
    };
    if (disconnected.aborted) endWait("left");
    else disconnected.addEventListener("abort", () => endWait("left"), { once: true });
    return () => endWait("delivered");
  }

  /** Takes over a task of an ended process, unless another running process has a client that waits for the task. */
  async adopt(task: Task): Promise<void> {
    const { calls, runner } = this.#deps;
    const name = task.intent.call;
    const taskId = displayId(task);
    const call = name === undefined ? null : await calls.find(name);
    const isAwaitedHere = this.hasWaitingClients(taskId);
    if (call !== null && !isAwaitedHere && calls.isAwaitedElsewhere(call)) return;
    if (name !== undefined && !isAwaitedHere && call?.hasKey !== true && !this.#disconnectedTasks.has(taskId))
      void this.#awaitReconnect({ name, taskId });
    runner.take(task, this.hasAbsentClients(taskId));
  }

  close(): void {
    this.#closing.abort();
  }

  async awaitReplies(): Promise<void> {
    const { runner, clock } = this.#deps;
    const untilMs = clock.monotonicMs() + MAX_REPLY_MS;
    const isDone = (taskId: string) => runner.find(taskId)?.isEnded === true;
    while ([...this.#waiting.keys()].some(isDone) && clock.monotonicMs() < untilMs)
      await clock.sleep(CHECK_MS);
  }

  #count(taskId: string): number {
    return this.#waiting.get(taskId) ?? 0;
  }

  async #awaitReconnect({ name, taskId }: Pick<Call, "name" | "taskId">): Promise<void> {
    const { calls, runner, clock } = this.#deps;
    const reconnected = new AbortController();
    this.#disconnectedTasks.set(taskId, reconnected);
    runner.pause(taskId);
    const signal = AbortSignal.any([reconnected.signal, this.#closing.signal]);
    for (;;) {
      await clock.sleep(MAX_ABSENCE_MS, signal).catch(() => {});
      if (signal.aborted) return;
      const call = await calls.find(name);
      if (signal.aborted) return;
      if (call === null || !calls.isAwaitedElsewhere(call)) break;
    }
    runner.drop(taskId, DISCONNECTED_REASON);
    if (this.#disconnectedTasks.get(taskId) === reconnected) this.#disconnectedTasks.delete(taskId);
  }
}
