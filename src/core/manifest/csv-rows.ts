import { editDistance } from "../../models/edit-distance.ts";
import { REQUEST_FIELDS } from "../../task/request-fields.ts";
import { COLUMN_LIST, isColumn, type ManifestColumn, nearestColumn, type RawValues } from "./columns.ts";
import { type CsvRecord, readRecords } from "./csv.ts";
import type { Found, ReadOptions } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";
import { type OtherColumns, placeholdersIn } from "./prompt-template.ts";
import { quoted } from "./quoted.ts";
import { checkValues } from "./row-values.ts";

/** A header that names the columns in any order, then one record for each row. An empty cell is not set. */
export async function* readCsv(
  lines: AsyncIterable<ManifestLine>,
  options: ReadOptions,
): AsyncGenerator<Found> {
  let columns: string[] | undefined;
  for await (const found of readRecords(lines)) {
    if ("message" in found) {
      yield found;
      // Without a readable header, the first record would be taken for the header.
      if (columns === undefined) return;
    } else if (columns === undefined) {
      columns = found.cells.map((cell) => cell.trim());
      for (const message of headerProblems(columns, options)) yield { line: found.line, message };
      // Every row would say the same again.
      if (!columns.includes("prompt") && (options.template === null || lacking(columns, options.template)))
        return;
    } else for (const row of readRow(found, columns, options)) yield row;
  }
}

function headerProblems(columns: readonly string[], { template }: ReadOptions): string[] {
  if (columns.includes("prompt")) return repeated(columns);
  if (template !== null) return [...lackingProblems(columns, template), ...repeated(columns)];
  const meant = columns.find((name) => nearestColumn(name) === "prompt");
  if (meant === undefined && !columns.some(isColumn))
    return [`the first record names no known column; ${advice(columns)}`];
  const near = meant === undefined ? "" : `; is it ${quoted(meant)}?`;
  return [`there is no column prompt${near}`, ...repeated(columns)];
}

/** Whether a template asks for a column that the manifest does not have. */
function lacking(columns: readonly string[], template: string): boolean {
  return placeholdersIn(template).some((name) => !columns.includes(name));
}

function lackingProblems(columns: readonly string[], template: string): string[] {
  return placeholdersIn(template)
    .filter((name) => !columns.includes(name))
    .map((name) => {
      const mostSlips = Math.min(2, Math.floor(name.length / 3));
      const slips = (column: string) => editDistance(column.toLowerCase(), name.toLowerCase());
      const meant = columns.find((column) => slips(column) <= mostSlips);
      const near = meant === undefined ? "" : `; did you mean ${quoted(meant)}?`;
      return `there is no column ${quoted(name)} for --template${near}`;
    });
}

function advice(columns: readonly string[]): string {
  const others = /[;\t|]/.test(columns[0] ?? "");
  return others ? "columns are separated by commas" : `known are ${COLUMN_LIST}`;
}

function repeated(columns: readonly string[]): string[] {
  const twice = columns.filter((name, index) => name !== "" && columns.indexOf(name) < index);
  return [...new Set(twice)].map((name) => `the column ${name} is there more than once`);
}

function* readRow(
  { line, cells }: CsvRecord,
  columns: readonly string[],
  options: ReadOptions,
): Generator<Found> {
  if (cells.length !== columns.length) {
    yield { line, message: cellCountProblem(cells.length, columns.length) };
    return;
  }
  const others = otherColumns(cells, columns);
  const checked = checkValues(rawValues(cells, columns, options), others, options);
  if ("values" in checked) yield { line, values: checked.values, ...(others.size > 0 && { others }) };
  else for (const message of checked.problems) yield { line, message };
}

function cellCountProblem(cells: number, columns: number): string {
  const count = `${cells} ${cells === 1 ? "cell" : "cells"} where the header has ${columns}`;
  return cells > columns ? `${count}; a cell with a comma in it is put in quotes` : count;
}

/** The prompt is kept as written; other cells are trimmed. A blank prompt is none if a template makes one. */
function rawValues(
  cells: readonly string[],
  columns: readonly string[],
  { template }: ReadOptions,
): RawValues {
  const raw: RawValues = {};
  columns.forEach((column, index) => {
    const cell = cells[index] ?? "";
    if (column === "prompt" && (template === null || cell.trim() !== "")) raw.prompt = cell;
    else if (isColumn(column)) raw[column] = cellValue(column, cell.trim());
  });
  return raw;
}

function otherColumns(cells: readonly string[], columns: readonly string[]): OtherColumns {
  const unknown = columns.flatMap((name, at): [string, string][] =>
    name === "" || isColumn(name) ? [] : [[name, (cells[at] ?? "").trim()]],
  );
  return new Map(unknown);
}

function cellValue(column: ManifestColumn, cell: string): unknown {
  if (cell === "") return undefined;
  const isList = column !== "output" && REQUEST_FIELDS[column] === "texts";
  return isList ? cell.split(/\s+/) : cell;
}
