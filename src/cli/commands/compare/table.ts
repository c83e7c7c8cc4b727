import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import type { Comparison } from "../../../core/batch/compare.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { GenerationRequest } from "../../../task/request.ts";
import type { TableCell, TableColumn } from "../../text/table.ts";
import { rowWord } from "../batch/row-word.ts";

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
