import { REQUEST_FIELDS } from "../../task/request-fields.ts";
import {
  COLUMN_LIST,
  type Column,
  isColumn,
  nearestColumn,
  type RawValues,
  unknownNames,
} from "./columns.ts";
import { type CsvRecord, readRecords } from "./csv.ts";
import type { Found } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";
import { checkValues } from "./row-values.ts";

/** A header that names the columns in any order, then one record for each row. An empty cell is not set. */
export async function* readCsv(lines: AsyncIterable<ManifestLine>): AsyncGenerator<Found> {
  let columns: string[] | undefined;
  for await (const found of readRecords(lines)) {
    if ("message" in found) {
      yield found;
      // Without a readable header, the first record would be taken for the header.
      if (columns === undefined) return;
    } else if (columns === undefined) {
      columns = found.cells.map((cell) => cell.trim());
      for (const message of headerProblems(columns)) yield { line: found.line, message };
      if (!columns.includes("prompt")) return;
    } else for (const row of readRow(found, columns)) yield row;
  }
}

function headerProblems(columns: readonly string[]): string[] {
  if (!columns.some((name) => isColumn(name) || nearestColumn(name) === "prompt"))
    return [`the first record names no known column; ${advice(columns)}`];
  const missing = columns.includes("prompt") ? [] : ["there is no column prompt"];
  return [...missing, ...unknownNames(columns, "column"), ...repeated(columns)];
}

function advice(columns: readonly string[]): string {
  const others = /[;\t|]/.test(columns[0] ?? "");
  return others ? "columns are separated by commas" : `known are ${COLUMN_LIST}`;
}

function repeated(columns: readonly string[]): string[] {
  const twice = columns.filter((name, index) => isColumn(name) && columns.indexOf(name) < index);
  return [...new Set(twice)].map((name) => `the column ${name} is there more than once`);
}

function* readRow({ line, cells }: CsvRecord, columns: readonly string[]): Generator<Found> {
  if (cells.length !== columns.length) {
    yield { line, message: cellCountProblem(cells.length, columns.length) };
    return;
  }
  const checked = checkValues(rawValues(cells, columns));
  if ("values" in checked) yield { line, values: checked.values };
  else for (const message of checked.problems) yield { line, message };
}

function cellCountProblem(cells: number, columns: number): string {
  const count = `${cells} ${cells === 1 ? "cell" : "cells"} where the header has ${columns}`;
  return cells > columns ? `${count}; a cell with a comma in it is put in quotes` : count;
}

/** The prompt is kept as written; other cells are trimmed. */
function rawValues(cells: readonly string[], columns: readonly string[]): RawValues {
  const raw: RawValues = {};
  columns.forEach((column, index) => {
    const cell = cells[index] ?? "";
    if (isColumn(column)) raw[column] = column === "prompt" ? cell : cellValue(column, cell.trim());
  });
  return raw;
}

function cellValue(column: Column, cell: string): unknown {
  if (cell === "") return undefined;
  const isList = column !== "output" && REQUEST_FIELDS[column] === "texts";
  return isList ? cell.split(/\s+/) : cell;
}
