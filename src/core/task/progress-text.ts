import type { QueueFacts } from "../../api/schema.ts";

/** What the queue before the user's own generator says of a task, as a sentence. */
export function progressText({ isWaiting, ahead, share, why }: QueueFacts): string {
  if (why !== null) return why;
  if (isWaiting)
    return ahead === null ? "waiting for its turn." : `waiting for its turn, ${tasksAhead(ahead)}.`;
  return share === null ? "generating." : `generating, ${percent(share)}.`;
}

/** `2 tasks before it` */
export function tasksAhead(count: number): string {
  return count === 1 ? "1 task before it" : `${count} tasks before it`;
}

/** `40%` @param share from 0 to 1 */
export function percent(share: number): string {
  return `${Math.round(100 * Math.min(share, 1))}%`;
}
