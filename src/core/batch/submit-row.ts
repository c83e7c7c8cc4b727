import type { OwnedTask } from "../../store/ledger.ts";
import type { Intent } from "../../store/task.ts";
import { TakenOverError } from "../errors.ts";
import { buyOwned, firstAttemptMs, intentOf } from "../task/generate.ts";
import type { TaskReport } from "../task/report.ts";
import { destinationOf } from "./batch-row.ts";
import type { PlannedRow } from "./plan.ts";
import { ended, notSent } from "./row-result.ts";
import type { BatchRun, Step } from "./run-context.ts";

/**
 * Buys a row, once the gate lets it through.
 * @param begun the task that the row's latest claim names and nobody has begun; null claims a new one
 */
export async function buyRow(row: PlannedRow, begun: string | null, run: BatchRun): Promise<Step> {
  const { deps, gate } = run;
  const pass = await gate.admit(deps.signal);
  if (pass === null) return notSent(row, gate.stopped ?? run.outage.error);
  try {
    const order = { checked: row.checked, destination: destinationOf(row, run.place), wait: run.wait };
    const owned = await beginRow(row, begun, intentOf(order, deps), run);
    if (owned === "taken") return "again";
    const connection = { ...deps.connection, service: pass };
    const report = await buyOwned(owned, order, { ...deps, connection });
    if (report.error instanceof TakenOverError) return "again";
    if (!isOutage(report, run)) return ended(row, report, true);
    // It never left, and that is on the disk: it is bought when the service is back.
    run.outage.error = report.error;
    return "again";
  } finally {
    pass.release();
  }
}

function isOutage({ error, charged }: TaskReport, { deps, gate }: BatchRun): boolean {
  return error?.type === "network" && charged === "no" && gate.breaker.isDown && !deps.signal.aborted;
}

async function beginRow(
  row: PlannedRow,
  begun: string | null,
  intent: Intent,
  { claims, deps }: BatchRun,
): Promise<OwnedTask | "taken"> {
  if (begun !== null) {
    await claims.share(row.key, row.attempts.length);
    return deps.ledger.beginAs(begun, intent, null, firstAttemptMs(deps));
  }
  const attempt = claims.attempt(row.key, row.attempts.length + 1);
  const id = deps.ledger.newId();
  const owned = await deps.ledger.beginAs(id, intent, attempt, firstAttemptMs(deps));
  row.attempts.push(owned === "taken" ? await attempt.owner() : id);
  return owned;
}
