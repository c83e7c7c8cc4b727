import type { ImggenError } from "../../lib/error-types.ts";
import type { Task } from "../../task/task.ts";

export interface PricedRequest {
  task: Pick<Task, "id" | "intent" | "parts">;
  /** Index of the request in its task, from 0. */
  request: number;
  credits: number | null;
}

/** A limit on the charges of a run, a session, a batch or a day. */
export interface Cap {
  /** Counts a request before its submit. @returns the error if the limit forbids it, otherwise null */
  take(request: PricedRequest): Promise<ImggenError | null>;
  /** Removes a request that was not charged from the count. */
  giveBack(request: PricedRequest): Promise<void>;
}

/** Price of one request of a task, in credits; null if unknown. */
export function requestPrice({ intent }: Pick<Task, "intent">): number | null {
  return intent.credits === null ? null : intent.credits / intent.requests;
}

/** Counts a paid request against all caps, or against none. @returns the error if a cap forbids the request */
export async function takeFromCaps(
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

export async function giveBackToCaps(
  caps: readonly Cap[],
  task: Pick<Task, "id" | "intent" | "parts">,
  request: number,
): Promise<void> {
  if (!task.intent.isPaid) return;
  for (const cap of caps) await cap.giveBack({ task, request, credits: requestPrice(task) });
}
