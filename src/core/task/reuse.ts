import type { Ledger } from "../../store/ledger.ts";
import type { Destination } from "../../task/destination.ts";
import type { ServiceIdentity } from "../../task/intent.ts";
import { STATES } from "../../task/lifecycle.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { WaitSettings } from "../polling/wait-settings.ts";
import { reportOf, type TaskReport } from "./report.ts";
import { type ResumeDeps, recoveryDestination, resumeFound } from "./resume.ts";

export interface ReuseOptions {
  /** null leaves an unfinished task as it is. */
  wait: WaitSettings | null;
  /** Where to save the images even if they are saved elsewhere; null: leave them where they are. */
  destination: Destination | null;
}

/**
 * Reuses an earlier task for the same request: finishes it if it is unfinished, and downloads its images again if the
 * files are gone. Submits nothing. If the only earlier one has an unknown outcome, the report says so.
 * @returns null if the request was never charged
 */
export async function reuseEarlier(
  request: GenerationRequest,
  service: ServiceIdentity,
  options: ReuseOptions,
  deps: ResumeDeps,
): Promise<TaskReport | null> {
  const record = await findReusable(deps.ledger, request, service);
  if (record === null) return null;
  return { ...(await reused(record, options, deps)), reused: true };
}

async function reused(record: TaskRecord, options: ReuseOptions, deps: ResumeDeps): Promise<TaskReport> {
  const report = reportOf(record);
  if (isUnknown(record) || waitsToBeSubmitted(record)) return report;
  const { wait } = options;
  if (wait === null) return { ...report, isAwaited: report.files.length > 0 };
  const fallback = recoveryDestination(record.intent.destination);
  // Bytes that went to standard output are nowhere now.
  const gone = report.files.some(({ path }) => path === null);
  const destination = options.destination ?? (gone ? fallback : null);
  return resumeFound(record, { wait, destination, fallback: () => fallback }, deps);
}

/** Whether another process is about to submit it. */
function waitsToBeSubmitted({ state }: TaskRecord): boolean {
  return state.name === "rate_limited" && !state.isOwnerGone;
}

/** The newest task that was accepted, else the newest of unknown outcome. */
async function findReusable(
  ledger: Ledger,
  request: GenerationRequest,
  service: ServiceIdentity,
): Promise<TaskRecord | null> {
  let unknown: TaskRecord | null = null;
  for await (const record of ledger.sameRequest(request, service)) {
    if (STATES[record.state.name].charged === "yes") return record;
    if (isUnknown(record) || waitsToBeSubmitted(record)) unknown ??= record;
  }
  return unknown;
}
