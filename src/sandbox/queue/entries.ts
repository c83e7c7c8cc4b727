import type { Claim } from "../../lib/claim.ts";
import type { Condition } from "./admission.ts";
import type { AccountKey } from "./pause.ts";
import type { SlotResult } from "./slots.ts";
import type { TaskFolder } from "./task-folder.ts";
import { isEnded, mayBeSent } from "./task-state.ts";

/** A task that this process has a claim on. */
export interface Entry {
  readonly folder: TaskFolder;
  readonly claim: Claim;
  /** Not to be begun: nobody waits for it in this process. */
  isHeld: boolean;
  phase: /** `notBeforeMs`: by the monotonic clock. */
  { name: "waiting"; notBeforeMs: number } | RunningPhase;
}

export interface RunningPhase {
  name: "running";
  /** By the monotonic clock. */
  sinceMs: number;
  /** How much of its current image there is, from 0 to 1; null where the generator does not say. */
  share: number | null;
  /** Gives its request up. */
  giveUp: AbortController;
  /** Never rejects. */
  done: Promise<void>;
}

/** The tasks that this process has in its queue. */
export class Entries {
  readonly #byId = new Map<string, Entry>();

  get size(): number {
    return this.#byId.size;
  }

  get(taskId: string): Entry | undefined {
    return this.#byId.get(taskId);
  }

  add(entry: Entry): void {
    this.#byId.set(entry.folder.task.taskId, entry);
  }

  async release({ folder, claim }: Entry): Promise<void> {
    this.#byId.delete(folder.task.taskId);
    await claim.release();
  }

  async releaseAll(): Promise<void> {
    await Promise.allSettled(this.all().map((entry) => this.release(entry)));
  }

  all(): Entry[] {
    return [...this.#byId.values()];
  }

  /** The task to begin next: the oldest of those that are due, else that which is due first. */
  next(nowMs: number): { entry: Entry; dueInMs: number } | null {
    let next: { entry: Entry; dueInMs: number } | null = null;
    for (const entry of this.#byId.values()) {
      if (entry.phase.name !== "waiting" || entry.isHeld) continue;
      const dueInMs = Math.max(0, entry.phase.notBeforeMs - nowMs);
      const isSooner = next === null || dueInMs < next.dueInMs;
      const isBefore = next !== null && dueInMs === next.dueInMs && isOlder(entry, next.entry);
      if (isSooner || isBefore) next = { entry, dueInMs };
    }
    return next;
  }

  /** How many tasks are before this one, running ones too. */
  countBefore(entry: Entry): number {
    return this.all().filter((other) => isOlder(other, entry)).length;
  }
}

/** Of two tasks of the same moment the id decides, as it does in the line of all processes. */
function isOlder({ folder: { task: a } }: Entry, { folder: { task: b } }: Entry): boolean {
  return a.submittedAt === b.submittedAt ? a.taskId < b.taskId : a.submittedAt < b.submittedAt;
}

/** Where a task stands that is not at its end, for a poll. */
export type QueueView =
  /** Other tasks have the generator. `ahead`: how many of this process are before it. */
  | { name: "queued"; ahead: number }
  /** `progress` is from 0 to 1. */
  | { name: "processing"; progress: number | null; detail: string | null }
  /** `mayBeSent`: whether a request of it has reached the generator, as for the first of two images. */
  | { name: "paused"; key: AccountKey; detail: string; mayBeSent: boolean };

const CLOSED = "The generator may still be at work on a request that timed out.";

/** What decides how a waiting task is shown. */
interface QueueState {
  condition: Condition;
  /** How many tasks are before it. */
  ahead: number;
  /** Why the oldest task that waits has no slot, as it was when one was last asked for. */
  noSlot: SlotResult["none"];
}

export function viewOf(entry: Entry, { condition, ahead, noSlot }: QueueState): QueueView {
  const { phase, folder } = entry;
  if (phase.name === "running")
    return { name: "processing", progress: progressOf(entry, phase), detail: null };
  if (condition.name === "refused") {
    const { key, detail } = condition;
    return { name: "paused", key, detail, mayBeSent: mayBeSent(folder.state) };
  }
  if (condition.name === "waiting") return { name: "processing", progress: null, detail: condition.detail };
  if (ahead > 0 || noSlot === "taken") return { name: "queued", ahead };
  return { name: "processing", progress: null, detail: noSlot && CLOSED };
}

/** How much of a running task there is, from 0 to 1, where that can be said. */
function progressOf({ folder }: Entry, { share }: RunningPhase): number | null {
  const { state, task } = folder;
  if (isEnded(state)) return 1;
  if (share === null && state.results.length === 0) return null;
  return (state.results.length + Math.min(1, Math.max(0, share ?? 0))) / task.imageCount;
}
