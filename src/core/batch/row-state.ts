import type { Attempt } from "./attempts.ts";

/**
 * How a row stands by its latest task. `new` is to be bought: nothing was ever sent for it, or the service
 * refused it. `waiting` is another process's to submit again, when the service is less busy. `failed` was bought, and
 * the service could not finish it: buying it again is the user's decision.
 */
export type RowState = "new" | "waiting" | "unfinished" | "saved" | "failed" | "unknown";

/** @param entry the latest attempt; null where the row has none, or nothing of it was begun */
export function rowStateOf(entry: Attempt): RowState {
  if (entry === null) return "new";
  // What cannot be read may well have been bought.
  if (entry.kind !== "task") return "unknown";
  const { progress } = entry.record;
  switch (progress.status) {
    case "not_sent":
    case "refused":
      return "new";
    case "rate_limited":
      return progress.isOwnerGone ? "new" : "waiting";
    case "accepted":
    case "completed":
      return "unfinished";
    case "saved":
      return "saved";
    case "failed":
      return "failed";
    case "intended":
    case "unknown":
    case "dismissed":
      return "unknown";
  }
}
