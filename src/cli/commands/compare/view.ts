import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import type { Cell, Comparison, SkippedCell } from "../../../core/batch/compare.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { Limit } from "../../../models/errors.ts";
import { DEFAULT_MODEL } from "../../../models/matrix.ts";
import type { GenerationRequest } from "../../../task/request.ts";
import type { Session } from "../../session/session.ts";
import type { TableCell, TableColumn } from "../../text/table.ts";
import { rowWord } from "../batch/row-notes.ts";

export const PLAN_COLUMNS: readonly TableColumn[] = [
  { heading: "MODEL", keep: true },
  { heading: "RATIO", whole: true },
  { heading: "QUALITY", whole: true },
  { heading: "CREDITS", whole: true },
];

export const COLUMNS: readonly TableColumn[] = [
  ...PLAN_COLUMNS,
  { heading: "SECONDS", spare: true, whole: true },
  { heading: "SIZE", spare: true, whole: true },
  { heading: "FILE", least: 12 },
];

/** A cell as its row is spoken of. */
export function cellLabel({ checked: { request } }: Pick<CheckedRow, "checked">): string {
  return [request.model, request.ratio, request.quality].filter(Boolean).join(" ");
}

/** The result of each cell. */
export function comparedRows(ends: readonly RowResult[]): TableCell[][] {
  return ends.map(endedCells);
}

/** What each cell would cost. */
export function plannedRows({ rows }: Comparison): string[][] {
  return rows.map(({ checked: { request, credits } }) => [...axesOf(request), String(credits ?? "?")]);
}

function endedCells(end: RowResult): TableCell[] {
  const { row, report } = end;
  const { request, credits } = row.checked;
  const [file] = report?.files ?? [];
  const elapsedMs = report?.elapsedMs ?? null;
  return [
    ...axesOf(request),
    String(credits ?? "?"),
    elapsedMs === null ? "-" : (elapsedMs / 1000).toFixed(1),
    file ? `${file.width}×${file.height}` : "-",
    fileCell(file?.path ?? null, end),
  ];
}

function fileCell(path: string | null, end: RowResult): TableCell {
  return path === null ? `${rowWord(end)}: ${end.error?.message ?? ""}` : { path };
}

function axesOf({ model, ratio = "-", quality = "-" }: GenerationRequest): string[] {
  return [model, ratio, quality];
}

/** Up to this many are listed one by one. */
const MOST_LISTED = 2;
/** Lines for more of them, after the first, which has their count. */
const MOST_LINES = 3;

/** Which cells the matrix rules out, and why: each on a line, but many by their models, in four lines. */
export function skippedLines({ rows, skipped }: Comparison, session: Session): string[] {
  if (skipped.length <= MOST_LISTED)
    return skipped.map(({ cell, reason }) => `${nameOf(cell)}: skipped: ${reason}`);
  const models = [...byModel(skipped)];
  const shown = models.length > MOST_LINES ? models.slice(0, MOST_LINES - 1) : models;
  const others = models.slice(shown.length);
  return [
    `${skipped.length} of ${rows.length + skipped.length} combinations are skipped:`,
    ...shown.map(([name, { cells, reasons }]) => `  ${cells} of ${name}: ${[...reasons].join("; ")}.`),
    ...(others.length === 0
      ? []
      : othersLines(
          others.map(([, model]) => model),
          session,
        )),
  ];
}

function othersLines(others: readonly SkippedModel[], session: Session): string[] {
  const all = session.commandLine("--dry-run", ["--json"]);
  return [`  ${cellsOf(others)} more of ${others.length} other models. To list all: ${all} --json`];
}

function cellsOf(models: readonly SkippedModel[]): number {
  return models.reduce((all, { cells }) => all + cells, 0);
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

function nameOf({ model, ratio, quality }: Cell): string {
  return [model, ratio, quality].filter(Boolean).join(" ") || "The default model";
}
