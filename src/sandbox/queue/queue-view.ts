import type { Condition } from "./admission.ts";
import type { Entry, RunningPhase } from "./entries.ts";
import type { AccountKey } from "./pause.ts";
import type { SlotResult } from "./slots.ts";
import { isEnded, mayBeSent } from "./task-state.ts";

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
