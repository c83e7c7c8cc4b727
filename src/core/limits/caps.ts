import type { ImggenError } from "../../lib/error-types.ts";
import type { Task } from "../../task/task.ts";

/** A request that is about to be submitted. */
export interface PricedRequest {
  task: Pick<Task, "id" | "intent" | "parts">;
  /** Index of the request in its task, from 0. */
  request: number;
  /** Documented cost; null if there is no price. */
  credits: number | null;
}

/** A limit on what may be charged: of a run, a session, a batch or a day. */
export interface Cap {
  /** Counts a request before it is submitted. @returns why it must not be; null if it may */
  take(request: PricedRequest): Promise<ImggenError | null>;
  /** Takes a request off that was not charged. */
  giveBack(request: PricedRequest): Promise<void>;
}

/** Price of one of a task's requests, in credits; null if unknown. */
export function requestPrice({ intent }: Pick<Task, "intent">): number | null {
  return intent.credits === null ? null : intent.credits / intent.requests;
}

/**
 * Asks every cap whether a request may be submitted. What is free is not asked for.
 * @returns why it must not be; null if it may
 */
export async function takeFrom(
  caps: readonly Cap[],
  task: Pick<Task, "id" | "intent" | "parts">,
  request: number,
): Promise<ImggenError | null> {
  if (!task.intent.isPaid) return null;
  const priced = { task, request, credits: requestPrice(task) };
  for (const [at, cap] of caps.entries()) {
    const error = await cap.take(priced);
    if (error === null) continue;
    for (const earlier of caps.slice(0, at)) await earlier.giveBack(priced);
    return error;
  }
  return null;
}

/** Takes a request off every cap, because it was not charged. */
export async function giveBackTo(
  caps: readonly Cap[],
  task: Pick<Task, "id" | "intent" | "parts">,
  request: number,
): Promise<void> {
  if (!task.intent.isPaid) return;
  for (const cap of caps) await cap.giveBack({ task, request, credits: requestPrice(task) });
}
