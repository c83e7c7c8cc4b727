import type { Cell, Comparison } from "../../../core/batch/compare.ts";
import { DEFAULT_MODEL } from "../../../models/matrix.ts";

/** So few cells are named one by one. */
const MOST_NAMED = 2;
/** Lines for more of them, after the first, which has their count. */
const MOST_LINES = 3;

/** Which cells the matrix rules out, and why: few one by one, many by their models, in four lines at most. */
export function skippedLines({ rows, skipped }: Comparison): string[] {
  if (skipped.length <= MOST_NAMED)
    return skipped.map(({ cell, reason }) => `${nameOf(cell)}: skipped: ${reason}`);
  const models = [...byModel(skipped).values()];
  const shown = models.length > MOST_LINES ? models.slice(0, MOST_LINES - 1) : models;
  const others = models.slice(shown.length);
  return [
    `${skipped.length} of ${rows.length + skipped.length} combinations are skipped:`,
    ...shown.map(({ cells, reasons }) => `  ${cells} × ${joined([...reasons])}.`),
    ...(others.length === 0
      ? []
      : [`  and ${sum(others)} of ${others.length} other models; --dry-run --json names each.`]),
  ];
}

function sum(models: readonly SkippedModel[]): number {
  return models.reduce((all, { cells }) => all + cells, 0);
}

interface SkippedModel {
  cells: number;
  /** Without the value that each is about. */
  reasons: Set<string>;
}

function byModel(skipped: Comparison["skipped"]): Map<string, SkippedModel> {
  const models = new Map<string, SkippedModel>();
  for (const { cell, reason } of skipped) {
    const name = cell.model ?? DEFAULT_MODEL;
    const model = models.get(name) ?? { cells: 0, reasons: new Set() };
    models.set(name, model);
    model.cells += 1;
    model.reasons.add(reason.replace(/^--.*?: /, "").replace(/\.$/, ""));
  }
  return models;
}

/** Several reasons, all but the first without the model's name. */
function joined([first = "", ...more]: readonly string[]): string {
  const subject = first.slice(0, first.indexOf(" ") + 1);
  return [
    first,
    ...more.map((reason) => (reason.startsWith(subject) ? reason.slice(subject.length) : reason)),
  ].join("; ");
}

function nameOf({ model, ratio, quality }: Cell): string {
  return [model, ratio, quality].filter(Boolean).join(" ") || "The default model";
}
