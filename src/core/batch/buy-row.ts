import { buyOwned, intentOf } from "../generate.ts";
import type { TaskReport } from "../report.ts";
import type { BatchRun, Step } from "./batch-run.ts";
import type { PlannedRow } from "./plan.ts";
import { ended, notSent } from "./row-end.ts";
import { destinationOf } from "./rows.ts";

/**
 * Buys a row, once the gate lets it through.
 * @param begun the task that the row's latest claim names and nobody has begun; null claims a new one
 */
export async function buyRow(row: PlannedRow, begun: string | null, run: BatchRun): Promise<Step> {
  const { deps, gate } = run;
  const pass = await gate.admit(deps.signal);
  if (pass === null) return notSent(row, gate.stopped ?? run.outage.error);
  try {
    const id = begun ?? (await claimRow(row, run));
    const order = { checked: row.checked, destination: destinationOf(row, run.place), wait: run.wait };
    const owned = await deps.ledger.beginAs(id, intentOf(order, deps));
    if (owned === "taken") return "again";
    const connection = { ...deps.connection, service: pass };
    const report = await buyOwned(owned, order, { ...deps, connection });
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

/** Claims the row's next attempt. @returns the task it goes by, be it ours or another process's */
async function claimRow(row: PlannedRow, { claims, deps }: BatchRun): Promise<string> {
  const id = await claims.claim(row.key, row.attempts.length + 1, deps.ledger.newId());
  row.attempts.push(id);
  return id;
}
