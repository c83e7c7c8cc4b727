import { escapeControls } from "../../lib/escape.ts";
import type { TextStyleName } from "./colors.ts";
import type { Console } from "./console.ts";
import { roomOn } from "./fit.ts";
import type { OutputStream } from "./output-stream.ts";
import { countColumns, cutTo } from "./terminal-columns.ts";

/** The style of a cell's text, without its padding; null for none. */
export type CellStyle = (cell: string, column: TableColumn) => TextStyleName | null;

/**
 * Prints a table on standard output: fitted to a terminal, whole in a pipe or a file.
 * @returns the columns that were left out for lack of room
 */
export async function showTable(
  allColumns: readonly TableColumn[],
  allRows: readonly (readonly TableCell[])[],
  { console, context }: { console: Console; context: { stdout: OutputStream } },
  cellStyle: CellStyle = () => null,
): Promise<TableColumn[]> {
  const { columns, rows } = withoutConstants(allColumns, allRows);
  const { fitted, leftOut } = layOut(columns, rows, roomOn(context.stdout));
  const style = console.style("stdout");
  const all = [columns.map(({ heading }) => heading), ...rows];
  // Some at a time: a history may have a hundred thousand.
  for (let from = 0; from < all.length; from += LINES_AT_ONCE) {
    const lines = all.slice(from, from + LINES_AT_ONCE).map(fitted);
    const styled = ({ column, text, padding }: FittedCell, at: number) => {
      const name = from + at === 0 ? "heading" : cellStyle(text, column);
      return (name === null ? text : style(name, text)) + padding;
    };
    const plain = lines.map((cells) => joined(cells.map(({ text, padding }) => text + padding)));
    await console.result(plain, (_line, at) => joined((lines[at] ?? []).map((cell) => styled(cell, at))));
  }
  if (leftOut.length === 0) return leftOut;
  await console.note(`Not shown for lack of room: ${leftOut.map(({ heading }) => heading).join(", ")}.`);
  return leftOut;
}

/** The columns that are shown, and their cells. */
function withoutConstants(columns: readonly TableColumn[], rows: readonly (readonly TableCell[])[]) {
  const isShown = columns.map(
    ({ varies }, at) => varies !== true || rows.length < 2 || rows.some((row) => row[at] !== rows[0]?.[at]),
  );
  if (isShown.every(Boolean)) return { columns, rows };
  const visibleOnly = <Each>(each: readonly Each[]) => each.filter((_, at) => isShown[at]);
  return { columns: visibleOnly(columns), rows: rows.map(visibleOnly) };
}

function joined(cells: readonly string[]): string {
  return cells.join(" ".repeat(BETWEEN)).trimEnd();
}

/** A column, and its treatment if the terminal is too narrow for all of them. */
export interface TableColumn {
  heading: string;
  /** Cut after all others, and never omitted. */
  keep?: boolean;
  /** Omitted before all others. */
  spare?: boolean;
  /** Never cut, because part of a cell would be useless. It may be omitted. */
  whole?: boolean;
  /** Minimum width; a narrower column is omitted. Default: 6. */
  least?: number;
  /** Whether the column is omitted if all its cells are the same. */
  varies?: boolean;
}

/** Text of a cell. If there is too little room, a path loses its beginning, up to a word, and other text its end. */
export type TableCell = string | { path: string };

/** Number of lines that are laid out and written at a time. */
const LINES_AT_ONCE = 1000;
/** Spaces between two columns. */
const BETWEEN = 2;
/** Minimum width at which most cells are still useful. */
const DEFAULT_LEAST = 6;

/**
 * Pads the cells of a table to the width of their columns, and escapes line breaks. Only if there is too
 * little room are cells cut or columns omitted.
 * @param room columns of the terminal; Infinity if nothing may be cut
 */
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
  const widths = widthsWithin(columns, fullWidths, room);
  const visibleColumns = columns.flatMap((column, at) => {
    const width = widths[at] ?? 0;
    return width === 0 ? [] : [{ column, at, width }];
  });
  const fitted = (row: readonly TableCell[]) =>
    visibleColumns.map(({ column, at, width }) => ({ column, ...fitCell(safeCell(row[at] ?? ""), width) }));
  return { fitted, leftOut: columns.filter((_, at) => widths[at] === 0) };
}

interface FittedCell {
  column: TableColumn;
  text: string;
  padding: string;
}

interface Layout {
  /** The cells of a row that are shown. */
  fitted: (row: readonly TableCell[]) => FittedCell[];
  leftOut: TableColumn[];
}

/** The width of each column; 0 for one that is left out. */
function widthsWithin(
  columns: readonly TableColumn[],
  fullWidths: readonly number[],
  room: number,
): number[] {
  const widths = [...fullWidths];
  const totalWidth = () => {
    const visibleWidths = widths.filter((width) => width > 0);
    return visibleWidths.reduce((sum, width) => sum + width, BETWEEN * (visibleWidths.length - 1));
  };
  const others = columns.flatMap(({ keep }, at) => (keep ? [] : [at]));
  const requiredColumns = columns.flatMap(({ keep }, at) => (keep ? [at] : []));
  const cuttable = others.filter((at) => !columns[at]?.whole);
  const least = columns.map((column) => column.least ?? DEFAULT_LEAST);
  shrink(widths, cuttable, least, () => totalWidth() - room);
  const leaving = others.toReversed().toSorted((a, b) => rank(columns[a]) - rank(columns[b]));
  for (const at of leaving) if (totalWidth() > room) widths[at] = 0;
  // Omitted columns may have made room for the others.
  for (const at of others) if (widths[at] !== 0) widths[at] = fullWidths[at] ?? 0;
  shrink(widths, cuttable, least, () => totalWidth() - room);
  // A column omitted before a wider one may fit into the remaining room.
  for (const at of leaving.toReversed().filter((each) => widths[each] === 0)) {
    widths[at] = fullWidths[at] ?? 0;
    if (totalWidth() > room) widths[at] = 0;
  }
  const one = columns.map(() => 1);
  shrink(widths, requiredColumns, one, () => totalWidth() - room);
  return widths;
}

/** The order in which columns are left out. */
function rank(column: TableColumn | undefined): number {
  return column?.spare ? 0 : 1;
}

/** Takes from the widest of these columns until nothing is too much, or all are as narrow as they may be. */
function shrink(
  widths: number[],
  which: readonly number[],
  least: readonly number[],
  excess: () => number,
): void {
  while (excess() > 0) {
    const spare = which.filter((at) => (widths[at] ?? 0) > (least[at] ?? 0));
    const [widest] = spare.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
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
  const text = cell.cut === "start" && cut !== cell.text ? fromWordStart(cut, cell.text) : cut;
  return { text, padding: " ".repeat(Math.max(0, width - countColumns(text))) };
}

const BETWEEN_WORDS = /[\s/\\_.-]/;

/** The end of a path, from the first whole word in it, unless much would be lost by that. */
function fromWordStart(cut: string, whole: string): string {
  const end = cut.slice(1);
  if (BETWEEN_WORDS.test(whole.at(-end.length - 1) ?? "")) return cut;
  const at = end.search(BETWEEN_WORDS);
  return at === -1 || at > end.length / 3 ? cut : `…${end.slice(at + 1)}`;
}
