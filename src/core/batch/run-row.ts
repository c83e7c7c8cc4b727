import { isCertificateError } from "../../api/connection-errors.ts";
import { errorCode } from "../../lib/error-code.ts";
import { type ErrorType, ImggenError } from "../../lib/errors.ts";
import { STATES } from "../../task/lifecycle.ts";
import type { TaskRecord } from "../../task/record.ts";
import { reportOf } from "../task/report.ts";
import { readAttempt } from "./attempts.ts";
import type { PlannedRow } from "./plan.ts";
import { resumeRow } from "./resume-row.ts";
import { endedWithout, type RowResult, resultOf, unreadable } from "./row-result.ts";
import { rowStateOf } from "./row-state.ts";
import type { BatchContext, Step } from "./run-context.ts";
import { submitRow } from "./submit-row.ts";

/** Errors that say of the account, or of its limits, that no further row can be bought. */
const STOPS: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
  "budget_exceeded",
]);

/** What a disk answers that will take no other image either. */
const DISK_IS_OUT: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

/** Whether to buy further rows would be in vain. What is under way is finished all the same. */
function endsAll(error: ImggenError): boolean {
  if (STOPS.has(error.type) || isCertificateError(error)) return true;
  return error.type === "save_failed" && DISK_IS_OUT.has(errorCode(error.cause) ?? "");
}

/**
 * Takes one row as far as it goes: buys it, or goes on from where an earlier run left it.
 * @returns "held" while another process is at work on it
 * @throws the signal's reason, where nothing was begun
 */
export async function runRow(row: PlannedRow, run: BatchContext): Promise<RowResult | "held"> {
  for (;;) {
    const step = await nextStep(row, run).catch((error: unknown) => troubled(row, error, run));
    if (step === "again") continue;
    if (step !== "held" && step.error && endsAll(step.error)) run.admission.stop(step.error);
    return step;
  }
}

/** One row's trouble, such as another account's task, is not the others'. */
function troubled(row: PlannedRow, error: unknown, { deps }: BatchContext): RowResult {
  if (!(error instanceof ImggenError) || error === deps.signal.reason) throw error;
  return endedWithout("failed", row, error);
}

async function nextStep(row: PlannedRow, run: BatchContext): Promise<Step> {
  const { ledger } = run.deps;
  const id = row.attempts.at(-1);
  const entry =
    id === undefined ? null : await readAttempt(row, row.attempts.length - 1, { claims: run.claims, ledger });
  // What waits out a 429, or did, is to be claimed first: its owner may be there all the same.
  const waits = entry?.kind === "task" && entry.record.state.name === "rate_limited";
  if (!waits && rowStateOf(entry) === "new") return submitRow(row, entry === null ? (id ?? null) : null, run);
  if (entry?.kind === "lost") {
    if (entry.record !== null && ledger.isUnderWay(entry.record)) return "held";
    if (row.resubmit === row.attempts.at(-1)) return submitRow(row, null, run);
  }
  if (entry?.kind !== "task") return unreadable(row, entry, await sameRequest(row, run));
  const { record, file } = entry;
  if (STATES[record.state.name].isOpen && file === run.claims.fileOf(row.key, row.attempts.length)) {
    await ledger.restore(record.id, file);
    return "again";
  }
  return resumeRow(row, record, run).catch((error: unknown) => {
    if (!(error instanceof ImggenError) || error === run.deps.signal.reason) throw error;
    // Whatever went wrong now, what an earlier run has paid for it, or may have, is not undone.
    return resultOf(row, { ...reportOf(record), error }, false);
  });
}

/** The newest task for a row's request that is none of its attempts: it may be the one that a damaged claim named. */
async function sameRequest(
  { checked, attempts }: PlannedRow,
  { deps }: BatchContext,
): Promise<TaskRecord | null> {
  for await (const record of deps.ledger.sameRequest(checked.request, deps.connection.identity)) {
    if (!attempts.includes(record.id)) return record;
  }
  return null;
}
