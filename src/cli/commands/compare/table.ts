import type { BatchRow } from "../../../core/batch/batch-row.ts";
import type { Cell, Comparison } from "../../../core/batch/compare.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { GenerationRequest } from "../../../task/request.ts";
import type { Column, TableCell } from "../../output/table-layout.ts";
import { rowWord } from "../batch/row-word.ts";

export const COLUMNS: readonly Column[] = [
  { heading: "MODEL", keep: true },
  { heading: "RATIO" },
  { heading: "QUALITY" },
  { heading: "CREDITS" },
  { heading: "SECONDS" },
  { heading: "SIZE" },
  { heading: "FILE" },
];

/** A cell as its row is spoken of. */
export function cellLabel({ checked: { request } }: Pick<BatchRow, "checked">): string {
  return [request.model, request.ratio, request.quality].filter(Boolean).join(" ");
}

/** What came of each cell, and at the end the cells that were skipped. */
export function comparedRows(ends: readonly RowResult[], comparison: Comparison): TableCell[][] {
  return [...ends.map(endedCells), ...comparison.skipped.map(skippedCells)];
}

/** What each cell would cost. */
export function plannedRows(comparison: Comparison): string[][] {
  const planned = comparison.rows.map(({ checked: { request, credits } }) => [
    ...axesOf(request),
    creditsCell(credits),
    "-",
    "-",
    "-",
  ]);
  return [...planned, ...comparison.skipped.map(skippedCells)];
}

function endedCells(end: RowResult): TableCell[] {
  const { row, report } = end;
  const { request, credits } = row.checked;
  const [file] = report?.files ?? [];
  const elapsedMs = report?.elapsedMs ?? null;
  return [
    ...axesOf(request),
    creditsCell(credits),
    elapsedMs === null ? "-" : (elapsedMs / 1000).toFixed(1),
    file ? `${file.width}×${file.height}` : "-",
    fileCell(file?.path ?? null, end),
  ];
}

function fileCell(path: string | null, end: RowResult): TableCell {
  return path === null ? `${rowWord(end)}: ${end.error?.message ?? ""}` : { path };
}

/** A line for each cell that the matrix rules out: the table may have no room for the reason. */
export function skippedLines({ skipped }: Comparison): string[] {
  return skipped.map(({ cell: { model, ratio, quality }, reason }) => {
    const name = [model, ratio, quality].filter(Boolean).join(" ");
    return `${name || "The default model"}: skipped: ${reason}`;
  });
}

function skippedCells({ cell, reason }: { cell: Cell; reason: string }): string[] {
  const { model = "-", ratio = "-", quality = "-" } = cell;
  return [model, ratio, quality, "-", "-", "-", `skipped: ${reason}`];
}

function axesOf({ model, ratio = "-", quality = "-" }: GenerationRequest): string[] {
  return [model, ratio, quality];
}

function creditsCell(credits: number | null): string {
  return credits === null ? "?" : String(credits);
}
