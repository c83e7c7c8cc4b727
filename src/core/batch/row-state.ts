import { effectiveState, type StateName } from "../../task/lifecycle.ts";
import type { TaskReport } from "../task/report.ts";
import type { Attempt } from "./attempts.ts";

/**
 * The state of a row, from its latest task. `new` is to be submitted: nothing was ever sent for it, or the service
 * refused it. `waiting` is another process's to submit. `unfinished` is charged and not saved. `failed` may have been
 * charged, and the service could not finish it: to submit it again is the user's decision.
 */
export type RowState = "new" | "waiting" | "unfinished" | "saved" | "failed" | "unknown";

const ROW_STATES: Readonly<Record<StateName, RowState>> = {
  intent: "unknown",
  rate_limited: "waiting",
  not_sent: "new",
  refused: "new",
  unknown: "unknown",
  dismissed: "unknown",
  accepted: "unfinished",
  completed: "unfinished",
  lost: "unknown",
  failed: "failed",
  saved: "saved",
};

/** @param entry the latest attempt; null if the row has none, or its task was never begun */
export function rowStateOf(entry: Attempt): RowState {
  if (entry === null) return "new";
  // A task that cannot be read may have been charged.
  return entry.kind === "task" ? ROW_STATES[effectiveState(entry.record.state)] : "unknown";
}

/** A row's state at the end of a run: a refused row counts as failed, because the same run does not submit it again. */
export function rowStateAfter({ state, error }: Pick<TaskReport, "state" | "error">): RowState {
  const isRefused = state === "refused";
  const isSavedInVain = state === "saved" && error !== null;
  return isRefused || isSavedInVain ? "failed" : ROW_STATES[state];
}
