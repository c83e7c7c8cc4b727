import type { BatchClaims } from "../../store/batch-claims.ts";
import type { OwnedTask } from "../../store/owners.ts";
import type { Intent } from "../../task/intent.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { TakenOverError } from "../errors.ts";
import type { Admission } from "../limits/admission.ts";
import type { WaitSettings } from "../polling/wait.ts";
import type { TaskReport } from "../engine/report.ts";
import { firstAttemptMs, intentOf, submitAndFinish } from "../task/submit-and-finish.ts";
import type { BudgetWatch } from "./budget-watch.ts";
import type { PlannedRow } from "./plan.ts";
import { destinationOf, type OutputFolder } from "./row-files.ts";
import { notSent, type RowResult, resultOf } from "./row-result.ts";

/** What all rows of a run share. */
export interface BatchContext {
  output: OutputFolder;
  wait: WaitSettings;
  claims: BatchClaims;
  admission: Admission;
  deps: TaskDeps;
  /** null if there is none to watch. */
  budget: Pick<BudgetWatch, "exceeded"> | null;
}

/** `elsewhere`: another process is working on the row. `again`: the row changed, so its next step is decided again. */
export type Step = RowResult | "elsewhere" | "again";

/**
 * Submits a row once admission lets it through.
 * @param begun id of the task that the row's latest claim names and that was never begun; null claims a new one
 */
export async function submitRow(row: PlannedRow, begun: string | null, run: BatchContext): Promise<Step> {
  const { deps, admission } = run;
  const pass = await admission.admit(deps.signal);
  if (pass === null) return notSent(row, admission.stopped ?? admission.outageError);
  try {
    const spec = { checked: row.checked, destination: destinationOf(row, run.output), wait: run.wait };
    const owned = await beginRow(row, begun, intentOf(spec, deps), run);
    if (owned === "taken") return "again";
    const connection = { ...deps.connection, provider: pass };
    const overBudget = async () => (await run.budget?.exceeded()) ?? null;
    const report = await submitAndFinish(owned, spec, { ...deps, connection }, overBudget);
    if (report.error instanceof TakenOverError) return "again";
    if (!isOutage(report, run)) return resultOf(row, report, true);
    // It was not sent, and the ledger says so: the row is submitted when the service is back.
    admission.outageError = report.error;
    return "again";
  } finally {
    pass.release();
  }
}

function isOutage({ error, charged }: TaskReport, { deps, admission }: BatchContext): boolean {
  return error?.type === "network" && charged === "no" && admission.breaker.isDown && !deps.signal.aborted;
}

async function beginRow(
  row: PlannedRow,
  begun: string | null,
  intent: Intent,
  { claims, deps }: BatchContext,
): Promise<OwnedTask | "taken"> {
  if (begun !== null) {
    await claims.share(row.key, row.attempts.length);
    return deps.ledger.beginAs(begun, intent, null, firstAttemptMs(deps));
  }
  const number = row.attempts.length + 1;
  const id = deps.ledger.newId();
  const owned = await deps.ledger.beginAs(id, intent, claims.attempt(row.key, number), firstAttemptMs(deps));
  row.attempts.push(owned === "taken" ? await claims.owner(row.key, number) : id);
  return owned;
}
