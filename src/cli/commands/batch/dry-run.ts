import { isRepeat } from "../../../core/batch/batch-row.ts";
import type { RowDefaults } from "../../../core/batch/check-rows.ts";
import { add, noCost, type TotalCost } from "../../../core/batch/plan.ts";
import { checkBatchBudget } from "../../../core/limits/batch-budget.ts";
import { unknownName } from "../../../core/manifest/columns.ts";
import type { GenerationRequest } from "../../../task/request.ts";
import type { Session } from "../../app/session.ts";
import type { ManifestSource } from "../../input/manifest-source.ts";
import { showTable } from "../../output/table.ts";
import { type Allowance, costText, rowsText } from "./costs.ts";
import { eachRow } from "./each-row.ts";

/** Goes through the manifest twice and keeps nothing of it, so that a file's length does not matter. */
export async function dryRun(
  source: ManifestSource,
  defaults: RowDefaults,
  { cap, allowUndocumented }: Omit<Allowance, "yes">,
  session: Session,
): Promise<number> {
  const toSubmit = noCost();
  const kinds = new Map<string, Kind>();
  let repeats = 0;
  const warnings = new Set<string>();
  const unused = await eachRow(source, defaults, ({ checked: { request, credits, warnings: said }, key }) => {
    add(toSubmit, credits);
    add(kindOf(request, kinds).cost, credits);
    if (isRepeat(key)) repeats += 1;
    for (const warning of said) warnings.add(warning);
  });
  if (cap !== null)
    checkBatchBudget({ toSubmit, charged: noCost(), chargedForOthers: noCost() }, cap, allowUndocumented);
  for (const warning of [...unused.map(unknownName), ...warnings]) await session.console.warn(warning);
  if (!session.options.json) {
    await session.console.result(
      `${rowsText(toSubmit.rows, repeats)}, ${costText(toSubmit)}, nothing was sent`,
    );
    await showKinds([...kinds.values()], session);
    return 0;
  }
  await eachRow(source, defaults, ({ row, line, checked: { request, credits } }) =>
    session.json({ ok: true, dryRun: true, row, line, request, credits }),
  );
  const byModel = [...kinds.values()].map(({ model, quality, cost }) => ({
    model,
    quality: quality ?? null,
    rows: cost.rows,
    credits: documented(cost),
  }));
  await session.json({
    type: "summary",
    dryRun: true,
    rows: toSubmit.rows,
    credits: documented(toSubmit),
    byModel,
  });
  return 0;
}

/** Rows of one model and quality: all of them cost the same. */
interface Kind {
  model: string;
  quality: string | undefined;
  cost: TotalCost;
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
    String(documented(cost) ?? "?"),
  ]);
  // The line before says it all of rows that are alike.
  if (rows.length > 1) await showTable(COLUMNS, rows, session);
}

function documented({ credits, undocumented }: TotalCost): number | null {
  return undocumented > 0 ? null : credits;
}
