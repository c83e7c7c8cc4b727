import { escapeControls } from "../../lib/escape.ts";
import type { TextStyleName } from "./colors.ts";
import type { Console } from "./console.ts";
import { streamColumns } from "./fit.ts";
import type { OutputStream } from "./output-stream.ts";
import { countColumns, cutTo } from "./terminal-columns.ts";

export type CellStyle = (cell: string, column: TableColumn) => TextStyleName | null;

/** Prints a table. Returns the columns that were omitted because the terminal is too narrow. */
export async function showTable(
  allColumns: readonly TableColumn[],
  allRows: readonly (readonly TableCell[])[],
  { console, context }: { console: Console; context: { stdout: OutputStream } },
  cellStyle: CellStyle = () => null,
): Promise<TableColumn[]> {
  const { columns, rows } = omitConstants(allColumns, allRows);
  const { fitRow, omitted } = layOut(columns, rows, streamColumns(context.stdout));
  const style = console.style("stdout");
  const all = [columns.map(({ heading }) => heading), ...rows];
  // A history can have 100,000 rows, so they are written in chunks.
  for (let from = 0; from < all.length; from += LINES_PER_CHUNK) {
    const lines = all.slice(from, from + LINES_PER_CHUNK).map(fitRow);
    const styleCell = ({ column, text, padding }: FittedCell, at: number) => {
      const name = from + at === 0 ? "heading" : cellStyle(text, column);
      return (name === null ? text : style(name, text)) + padding;
    };
    const plain = lines.map((cells) => joinCells(cells.map(({ text, padding }) => text + padding)));
    await console.result(plain, (_line, at) =>
      joinCells((lines[at] ?? []).map((cell) => styleCell(cell, at))),
    );
  }
  if (omitted.length === 0) return omitted;
  await console.note(`Columns that do not fit: ${omitted.map(({ heading }) => heading).join(", ")}.`);
  return omitted;
}

function omitConstants(columns: readonly TableColumn[], rows: readonly (readonly TableCell[])[]) {
  const isShown = columns.map(
    ({ omitIfConstant }, at) =>
      omitIfConstant !== true || rows.length < 2 || rows.some((row) => row[at] !== rows[0]?.[at]),
  );
  if (isShown.every(Boolean)) return { columns, rows };
  const visibleOnly = <Each>(each: readonly Each[]) => each.filter((_, at) => isShown[at]);
  return { columns: visibleOnly(columns), rows: rows.map(visibleOnly) };
}

function joinCells(cells: readonly string[]): string {
  return cells.join(" ".repeat(COLUMN_GAP)).trimEnd();
}

export interface TableColumn {
  heading: string;
  /** A required column is never omitted, and is cut only after all other columns. */
  required?: boolean;
  omitFirst?: boolean;
  /** Set if part of a cell would be useless. */
  neverCut?: boolean;
  /** Minimum width; a narrower column is omitted. Default: 6. */
  minWidth?: number;
  omitIfConstant?: boolean;
}

/** A path that is too long is cut at its beginning; other text is cut at its end. */
export type TableCell = string | { path: string };

const LINES_PER_CHUNK = 1000;
const COLUMN_GAP = 2;
const DEFAULT_MIN_WIDTH = 6;

/** Cuts cells and omits columns if the terminal is too narrow. @param room width in columns; Infinity for no limit */
export function layOut(
  columns: readonly TableColumn[],
  rows: readonly (readonly TableCell[])[],
  room: number,
): Layout {
  const fullWidths = columns.map(({ heading }) => countColumns(safeCell(heading).text));
  for (const row of rows) {
    for (const [at, cell] of row.entries())
      fullWidths[at] = Math.max(fullWidths[at] ?? 0, countColumns(safeCell(cell).text));
  }
  const widths = fitWidths(columns, fullWidths, room);
  const visibleColumns = columns.flatMap((column, at) => {
    const width = widths[at] ?? 0;
    return width === 0 ? [] : [{ column, at, width }];
  });
  const fitRow = (row: readonly TableCell[]) =>
    visibleColumns.map(({ column, at, width }) => ({ column, ...fitCell(safeCell(row[at] ?? ""), width) }));
  return { fitRow, omitted: columns.filter((_, at) => widths[at] === 0) };
}

interface FittedCell {
  column: TableColumn;
  text: string;
  padding: string;
}

interface Layout {
  fitRow: (row: readonly TableCell[]) => FittedCell[];
  omitted: TableColumn[];
}

/** Returns the width of each column; 0 for an omitted column. */
function fitWidths(columns: readonly TableColumn[], fullWidths: readonly number[], room: number): number[] {
  const widths = [...fullWidths];
  const totalWidth = () => {
    const visibleWidths = widths.filter((width) => width > 0);
    return visibleWidths.reduce((sum, width) => sum + width, COLUMN_GAP * (visibleWidths.length - 1));
  };
  const optionalColumns = columns.flatMap(({ required }, at) => (required ? [] : [at]));
  const requiredColumns = columns.flatMap(({ required }, at) => (required ? [at] : []));
  const cuttable = optionalColumns.filter((at) => !columns[at]?.neverCut);
  const minWidths = columns.map((column) => column.minWidth ?? DEFAULT_MIN_WIDTH);
  shrink(widths, cuttable, minWidths, () => totalWidth() - room);
  const omissionOrder = optionalColumns
    .toReversed()
    .toSorted((a, b) => omissionRank(columns[a]) - omissionRank(columns[b]));
  for (const at of omissionOrder) if (totalWidth() > room) widths[at] = 0;
  for (const at of optionalColumns) if (widths[at] !== 0) widths[at] = fullWidths[at] ?? 0;
  shrink(widths, cuttable, minWidths, () => totalWidth() - room);
  // Columns that were omitted early might fit again, because a wider column was omitted later.
  for (const at of omissionOrder.toReversed().filter((each) => widths[each] === 0)) {
    widths[at] = fullWidths[at] ?? 0;
    if (totalWidth() > room) widths[at] = 0;
  }
  const oneCharacterWidths = columns.map(() => 1);
  shrink(widths, requiredColumns, oneCharacterWidths, () => totalWidth() - room);
  return widths;
}

function omissionRank(column: TableColumn | undefined): number {
  return column?.omitFirst ? 0 : 1;
}

function shrink(
  widths: number[],
  columns: readonly number[],
  minWidths: readonly number[],
  excess: () => number,
): void {
  while (excess() > 0) {
    const shrinkable = columns.filter((at) => (widths[at] ?? 0) > (minWidths[at] ?? 0));
    const [widest] = shrinkable.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest === undefined) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

interface SafeCell {
  text: string;
  cut: "start" | "end";
}

function safeCell(cell: TableCell): SafeCell {
  if (typeof cell === "string") return { text: escapeControls(cell), cut: "end" };
  return { text: escapeControls(cell.path), cut: "start" };
}

function fitCell(cell: SafeCell, width: number): { text: string; padding: string } {
  const cut = cutTo(cell.text, width, cell.cut);
  const text = cell.cut === "start" && cut !== cell.text ? trimToWordStart(cut, cell.text) : cut;
  return { text, padding: " ".repeat(Math.max(0, width - countColumns(text))) };
}

const WORD_SEPARATOR = /[\s/\\_.-]/;

/** Keeps an incomplete first word if it is more than a third of the path. */
function trimToWordStart(cut: string, fullText: string): string {
  const end = cut.slice(1);
  if (WORD_SEPARATOR.test(fullText.at(-end.length - 1) ?? "")) return cut;
  const at = end.search(WORD_SEPARATOR);
  return at === -1 || at > end.length / 3 ? cut : `…${end.slice(at + 1)}`;
}
