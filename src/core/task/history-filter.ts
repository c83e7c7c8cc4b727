import type { ServiceIdentity } from "../../task/intent.ts";
import { effectiveState, isResumable, type StateName } from "../../task/lifecycle.ts";
import type { TaskRecord } from "../../task/record.ts";
import { type ReportStatus, reportStatus } from "./report.ts";

/** Which tasks of the ledger are wanted; a field that is absent asks nothing. */
export interface HistoryFilter {
  /** A part of the prompt, in any case. */
  search?: string | undefined;
  status?: HistoryStatus | undefined;
  /** The canonical id. */
  model?: string | undefined;
  /** Begun at this moment or later, milliseconds since the epoch. */
  sinceMs?: number | undefined;
  isOfService?: ((service: ServiceIdentity) => boolean) | undefined;
}

/** The status of a task for filters: a charged task that is not saved is `unfinished`, whatever its status at the service. */
export type HistoryStatus = ReportStatus | "unfinished";

export function historyStatus(state: StateName): HistoryStatus {
  return isResumable(state) ? "unfinished" : reportStatus({ state, isAwaited: true });
}

/** Whether a task is wanted, as far as its request and its state say. */
export function matches(
  { intent: { request }, state }: TaskRecord,
  { search, status, model }: HistoryFilter,
): boolean {
  if (search !== undefined && !request.prompt.toLowerCase().includes(search.toLowerCase())) return false;
  if (model !== undefined && request.model !== model) return false;
  return status === undefined || hasStatus(effectiveState(state), status);
}

/** `running` is the word of the JSON output, for a part of what is unfinished. */
function hasStatus(state: StateName, status: HistoryStatus): boolean {
  const isRunning = status === "running" && reportStatus({ state, isAwaited: true }) === "running";
  return isRunning || historyStatus(state) === status;
}
