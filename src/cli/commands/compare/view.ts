import { rowJson, summaryJson } from "../../../client/batch-json.ts";
import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import { add, documentedTotal, noCost } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { checkBatchBudget } from "../../../core/limits/budget.ts";
import { COMMAND_WORDS } from "../../../lib/wording.ts";
import type { Limit } from "../../../models/invalid-request.ts";
import { DEFAULT_MODEL } from "../../../models/matrix.ts";
import { differingSettings, type OwnFields, ownSettings } from "../../../task/request.ts";
import type { Session } from "../../session/session.ts";
import { creditsCell } from "../../text/phrases.ts";
import { showTable, type TableCell, type TableColumn } from "../../text/table.ts";
import type { BatchTerms } from "../batch/batch-flags.ts";
import { rowWord } from "../batch/row-notes.ts";
import { costText, type ShownResult, showSummary } from "../batch/summary.ts";
import type { Cell, Comparison, SkippedCell } from "./cells.ts";

/** @param settings generator fields in which the cells differ */
const planColumns = (settings: readonly string[]): TableColumn[] => [
  { heading: "MODEL", keep: true },
  { heading: "RATIO", whole: true },
  { heading: "QUALITY", whole: true },
  ...settings.map((name) => ({ heading: name.toUpperCase(), keep: true })),
  { heading: "CREDITS", whole: true },
];

const columns = (settings: readonly string[]): TableColumn[] => [
  ...planColumns(settings),
  { heading: "SECONDS", spare: true, whole: true },
  { heading: "SIZE", spare: true, whole: true },
  { heading: "FILE", least: 12 },
];

/** A cell as its row is spoken of. */
export function labelOf(
  { model, ratio, quality, ...fields }: Partial<Cell> & OwnFields,
  differing: readonly string[] = [],
): string {
  const settings = ownSettings(fields);
  const labels = differing.flatMap((name) => (name in settings ? `${name}=${settings[name]}` : []));
  return [model, ratio, quality, ...labels].filter(Boolean).join(" ");
}

function differingIn(rows: readonly CheckedRow[]): string[] {
  return differingSettings(rows.map(({ checked }) => checked.request));
}

/** What the cells would cost. Nothing is sent. @throws BudgetExceededError */
export async function showPlan(comparison: Comparison, terms: BatchTerms, session: Session): Promise<number> {
  const toSubmit = noCost();
  for (const { checked } of comparison.rows) add(toSubmit, checked.credits);
  const batch = { toSubmit, charged: noCost(), chargedForOthers: noCost() };
  if (terms.cap !== null) checkBatchBudget(batch, terms.cap, terms);
  const { requireSupportedRows } = await import("../batch/dry-run.ts");
  const differing = differingIn(comparison.rows);
  const nameOf = ({ checked }: CheckedRow) => labelOf(checked.request, differing);
  await requireSupportedRows(comparison.rows, { nameOf }, session);
  if (!session.options.json) {
    const rows = comparison.rows.map((row) => costCells(row, differing, session));
    await showTable(planColumns(differing), rows, session);
    await session.console.note(`${costText(toSubmit, session.isSandbox)}, nothing was sent`);
    return 0;
  }
  await session.console.json({
    ok: true,
    dryRun: true,
    cells: comparison.rows.map(({ checked: { request, credits } }) => ({ request, credits })),
    skipped: skippedJson(comparison),
    credits: documentedTotal(toSubmit),
  });
  return 0;
}

/** The whole as one document for a script, or as a table for a person. @param ends in the order of the cells */
export async function showCompared(
  comparison: Comparison,
  ends: readonly RowResult[],
  result: ShownResult,
  session: Session,
): Promise<void> {
  if (session.options.json) {
    const { sheet } = result;
    const { credits } = summaryJson(result);
    await session.console.json({
      ok: result.counts.isComplete,
      cells: ends.map((end) => rowJson(end, COMMAND_WORDS)),
      skipped: skippedJson(comparison),
      credits,
      ...(sheet !== undefined && { sheet }),
    });
  } else {
    const differing = differingIn(comparison.rows);
    await showTable(columns(differing), comparedRows(ends, differing, session), session);
    await showSummary(result, session);
  }
}

function skippedJson({ skipped }: Comparison): object[] {
  return skipped.map(({ cell: { model, ratio, quality, fields }, reason }) => ({
    model: model ?? null,
    ratio: ratio ?? null,
    quality: quality ?? null,
    ...(fields && Object.keys(fields).length > 0 && { fields }),
    reason,
  }));
}

/** The result of each cell. */
function comparedRows(
  ends: readonly RowResult[],
  differing: readonly string[],
  session: Session,
): TableCell[][] {
  return ends.map((end) => {
    const elapsedMs = end.report?.elapsedMs ?? null;
    const file = end.report?.files[0];
    return [
      ...costCells(end.row, differing, session),
      elapsedMs === null ? "-" : (elapsedMs / 1000).toFixed(1),
      file ? `${file.width}×${file.height}` : "-",
      file?.path ? { path: file.path } : `${rowWord(end)}: ${end.error?.message ?? ""}`,
    ];
  });
}

function costCells(
  { checked: { request, credits } }: CheckedRow,
  differing: readonly string[],
  { isSandbox }: Session,
): string[] {
  const { model, ratio = "-", quality = "-" } = request;
  const settings = ownSettings(request);
  const free = isSandbox ? "sandbox" : credits === 0 ? "generator" : null;
  return [
    model,
    ratio,
    quality,
    ...differing.map((name) => settings[name] ?? "-"),
    creditsCell(credits, free),
  ];
}

/** Up to this many are listed one by one. */
const MOST_LISTED = 2;
/** Lines for more of them, after the first, which has their count. */
const MOST_LINES = 3;

/** Which cells the matrix rules out, and why: each on a line, but many by their models, in four lines. */
export function skippedLines({ rows, skipped }: Comparison, session: Session): string[] {
  if (skipped.length <= MOST_LISTED)
    return skipped.map(({ cell, reason }) => `${labelOf(cell) || "The default model"}: skipped: ${reason}`);
  const models = [...byModel(skipped)];
  const shown = models.length > MOST_LINES ? models.slice(0, MOST_LINES - 1) : models;
  const others = models.slice(shown.length);
  const lines = [
    `${skipped.length} of ${rows.length + skipped.length} combinations are skipped:`,
    ...shown.map(([name, { cells, reasons }]) => `  ${cells} of ${name}: ${[...reasons].join("; ")}.`),
  ];
  if (others.length === 0) return lines;
  const cells = others.reduce((all, [, model]) => all + model.cells, 0);
  const command = `${session.commandLine("--dry-run", ["--json"])} --json`;
  return [...lines, `  ${cells} more of ${others.length} other models. To list all: ${command}`];
}

interface SkippedModel {
  cells: number;
  /** Why; without the flag and its value. */
  reasons: Set<string>;
}

function byModel(skipped: readonly SkippedCell[]): Map<string, SkippedModel> {
  const models = new Map<string, SkippedModel>();
  for (const { cell, reason, limit } of skipped) {
    const name = cell.model ?? DEFAULT_MODEL;
    const model = models.get(name) ?? { cells: 0, reasons: new Set() };
    models.set(name, model);
    model.cells += 1;
    model.reasons.add(limit === null ? reason.replace(/\.$/, "") : limitText(limit));
  }
  return models;
}

const PLURALS = { ratio: "ratios", quality: "qualities" } as const;

/** `qualities 1K, 2K only`; `no quality`. */
function limitText({ field, allowed }: Limit): string {
  return allowed.length === 0 ? `no ${field}` : `${PLURALS[field]} ${allowed.join(", ")} only`;
}
