import { openLedger } from "../../../client/client-session.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import { type BatchSpec, budgetedKeys } from "../../../core/batch/batch-spec.ts";
import { batchId, findBatch } from "../../../core/batch/identify-batch.ts";
import {
  add,
  type BatchPlan,
  documentedTotal,
  isToSubmit,
  noCost,
  planBatch,
  type TotalCost,
} from "../../../core/batch/plan.ts";
import { checkBatchBudget } from "../../../core/limits/budget.ts";
import { BatchFolders } from "../../../store/batch-folders.ts";
import { RowClaims } from "../../../store/row-claims.ts";
import type { GenerationRequest } from "../../../task/request.ts";
import type { Session } from "../../session/session.ts";
import { showTable } from "../../text/table.ts";
import { estimateText, planText } from "./summary.ts";

/** Shows what the rows cost that a run would submit now. Needs no key, connects to nothing and writes nothing. */
export async function dryRun(spec: BatchSpec, session: Session): Promise<number> {
  const plan = await planWithoutKey(spec, session);
  const { toSubmit } = plan;
  if (spec.cap !== null) checkBatchBudget(plan, spec.cap, spec);
  const submitted = plan.rows.filter(isToSubmit);
  await requireSupportedRows(submitted, spec, session);
  const kinds = kindsOf(submitted);
  if (!session.options.json) {
    await session.console.result(`${planText(plan, session.isSandbox)}, nothing was sent`);
    await showKinds(kinds, session);
    const estimate = estimateText(toSubmit, spec.matrix);
    if (estimate !== "") await session.console.note(estimate);
    return 0;
  }
  for (const { row, line, checked } of plan.rows.toSorted((a, b) => a.row - b.row)) {
    const { request, credits } = checked;
    await session.console.json({ ok: true, dryRun: true, row, line, request, credits });
  }
  await session.console.json({
    type: "summary",
    dryRun: true,
    rows: plan.rows.length,
    saved: plan.rows.filter(({ state }) => state === "saved").length,
    toSubmit: toSubmit.rows,
    credits: documentedTotal(toSubmit),
    byModel: kinds.map(({ model, quality, cost }) => ({
      model,
      quality: quality ?? null,
      rows: cost.rows,
      credits: documentedTotal(cost),
    })),
  });
  return 0;
}

/** Refuses requests that the user's own generator would refuse. @throws InvalidRequestError */
export async function requireSupportedRows(
  rows: readonly CheckedRow[],
  { nameOf }: Pick<BatchSpec, "nameOf">,
  session: Session,
): Promise<void> {
  const target = await targetInEffect(session);
  await target.describe(rows.map((row) => [nameOf(row), row.checked.request] as const));
}

/** What earlier runs have done at the service that is configured; where none is, there were none. */
async function planWithoutKey(spec: BatchSpec, session: Session): Promise<BatchPlan> {
  const service = (await (await targetInEffect(session)).name()) ?? "";
  const ledger = openLedger(session);
  const { origin } = await findBatch(spec.output.folder, new BatchFolders(ledger.folder));
  const id = batchId(service, origin);
  const claims = new RowClaims(ledger.folder, id);
  return planBatch(spec.rows, { ...spec, claims, ledger, countsKey: budgetedKeys(spec) });
}

/** Rows of one model and quality: all of them cost the same. */
interface Kind {
  model: string;
  quality: string | undefined;
  cost: TotalCost;
}

function kindsOf(rows: readonly CheckedRow[]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { checked } of rows) add(kindOf(checked.request, kinds).cost, checked.credits);
  return [...kinds.values()];
}

function kindOf({ model, quality }: GenerationRequest, kinds: Map<string, Kind>): Kind {
  const name = `${model} ${quality ?? ""}`;
  const kind = kinds.get(name) ?? { model, quality, cost: noCost() };
  kinds.set(name, kind);
  return kind;
}

const COLUMNS = [
  { heading: "MODEL", keep: true },
  { heading: "QUALITY" },
  { heading: "ROWS", keep: true },
  { heading: "CREDITS", keep: true },
];

async function showKinds(kinds: readonly Kind[], session: Session): Promise<void> {
  const rows = kinds.map(({ model, quality = "-", cost }) => [
    model,
    quality,
    String(cost.rows),
    String(documentedTotal(cost) ?? "?"),
  ]);
  // The line before says it all of rows that are alike.
  if (rows.length > 1) await showTable(COLUMNS, rows, session);
}
