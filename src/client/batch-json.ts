import { type CheckedRow, isRepeat } from "../core/batch/batch-row.ts";
import type { BatchResult } from "../core/batch/batch-spec.ts";
import { isUncharged } from "../core/batch/counts.ts";
import {
  addCost,
  type BatchPlan,
  documentedCredits,
  isToSubmit,
  noCost,
  type RowState,
  type TotalCost,
} from "../core/batch/plan.ts";
import type { RowResult } from "../core/batch/row-result.ts";
import { likelyCredits } from "../core/limits/budget.ts";
import { MANIFEST_EXTENSIONS } from "../core/manifest/manifest-format.ts";
import { pluralize } from "../lib/whole-number.ts";
import type { Vocabulary } from "../lib/wording.ts";
import { highestCost } from "../models/cost.ts";
import type { Matrix } from "../models/matrix.ts";
import { generatorFieldTexts } from "../task/request.ts";
import { FIELD_NAMES } from "../task/request-fields.ts";
import { openState } from "../task/task.ts";
import { describeFailure } from "./failure.ts";
import { savedJson } from "./report-json.ts";
import type { BatchRow, BatchSummary } from "./results.ts";

export function rowJson({ row, isSkipped, report, error }: RowResult, words: Vocabulary): BatchRow {
  const position = { row: row.row, line: row.line };
  if (report) return { ...savedJson(report, words), ...position, ...(isSkipped && { skipped: true }) };
  return { ...describeFailure(error, words), files: [], warnings: [], ...position };
}

/** Pending and unsent rows also count as failed. */
export function summaryJson({ counts, rows, charged }: BatchResult): BatchSummary {
  const { saved, skipped, unknown, pending, waiting, notSent, cost } = counts;
  const failed = counts.failed + pending + notSent;
  const warnings = counts.mismatches.map(
    ([description, count]) => `${description} (${pluralize(count, "row")})`,
  );
  return {
    type: "summary",
    rows,
    saved,
    failed,
    unknown,
    skipped,
    pending,
    waiting,
    notSent,
    credits: documentedCredits(cost),
    creditsBefore: documentedCredits(charged),
    warnings,
  };
}

export const EXTENSIONS = MANIFEST_EXTENSIONS.map((extension) => extension.slice(1));

export const COLUMNS = [...FIELD_NAMES, "output"].join(" ");

const ROW_STATE_TEXTS: Readonly<Record<RowState, string>> = {
  new: "not sent",
  waiting: "unfinished",
  unfinished: "unfinished",
  saved: "saved",
  failed: "failed",
  unknown: "outcome unknown",
};

export function rowStateText(end: RowResult): string {
  if (isUncharged(end)) return (end.report && openState(end.report.state)) ?? "waiting";
  return end.isSkipped ? "saved before" : ROW_STATE_TEXTS[end.state];
}

/** Values of a row's request by name, including a generator's fields. */
export type RowValues = Readonly<Record<string, string>>;

export function rowValues({ checked: { request } }: CheckedRow): RowValues {
  const { prompt, model, ratio, quality } = request;
  return {
    prompt,
    model,
    ...(ratio && { ratio }),
    ...(quality && { quality }),
    ...generatorFieldTexts(request),
  };
}

export function differingNames(rows: readonly RowValues[]): string[] {
  const names = new Set(rows.flatMap(Object.keys));
  return [...names].filter((name) => new Set(rows.map((values) => values[name])).size > 1);
}

/** Joins values. A generator's field is written as `name=value`. */
export function valuesText(values: RowValues, names: readonly string[], separator: string): string {
  const valueText = (name: string, value: string) =>
    VALUES_WITHOUT_NAME.has(name) ? value : `${name}=${value}`;
  return names.flatMap((name) => (values[name] ? valueText(name, values[name]) : [])).join(separator);
}

const VALUES_WITHOUT_NAME: ReadonlySet<string> = new Set(["prompt", "model", "ratio", "quality", "cost"]);

export interface PlanFacts {
  rows: number;
  saved: number;
  unfinished: number;
  repeats: number;
  toSubmit: TotalCost;
  charged: TotalCost;
  /** Whether `charged` is certain. Failed rows and rows of unknown outcome might not have been charged. */
  isCertain: boolean;
  /** Estimated credits per row and in total, or null if all costs are documented. */
  estimate: { each: number; total: number } | null;
}

export function planFacts({ rows, toSubmit, charged }: BatchPlan, matrix: Matrix): PlanFacts {
  const count = (state: RowState) => rows.filter((row) => row.state === state).length;
  const [saved, unfinished] = [count("saved"), count("unfinished")];
  const estimate = { each: highestCost(matrix), total: likelyCredits(toSubmit, matrix) };
  return {
    rows: rows.length,
    saved,
    unfinished,
    repeats: rows.filter(({ key }) => isRepeat(key)).length,
    toSubmit,
    charged,
    isCertain: charged.rows === saved + unfinished,
    estimate: toSubmit.undocumented === 0 ? null : estimate,
  };
}

export function planJson({ rows, toSubmit }: BatchPlan) {
  return {
    rows: rows
      .toSorted((a, b) => a.row - b.row)
      .map(({ row, line, checked: { request, credits } }) => ({ row, line, request, credits })),
    sums: {
      rows: rows.length,
      saved: rows.filter(({ state }) => state === "saved").length,
      toSubmit: toSubmit.rows,
      credits: documentedCredits(toSubmit),
      byModel: costsByModel(rows.filter(isToSubmit)),
    },
  };
}

function costsByModel(rows: readonly CheckedRow[]) {
  const costs = new Map<string, { model: string; quality: string | null; cost: TotalCost }>();
  for (const { checked } of rows) {
    const { model, quality = null } = checked.request;
    const name = `${model} ${quality ?? ""}`;
    const kind = costs.get(name) ?? { model, quality, cost: noCost() };
    costs.set(name, kind);
    addCost(kind.cost, checked.credits);
  }
  return [...costs.values()].map(({ cost, ...kind }) => ({
    ...kind,
    rows: cost.rows,
    credits: documentedCredits(cost),
  }));
}
