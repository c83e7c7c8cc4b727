import { editDistance } from "../../models/edit-distance.ts";
import { REQUEST_FIELDS } from "../../task/request-fields.ts";
import {
  COLUMN_LIST,
  columnOf,
  type ManifestColumn,
  nearNames,
  type RawValues,
  repeatedColumn,
} from "./columns.ts";
import { type CsvRecord, readRecords } from "./csv.ts";
import { type ManifestEntry, type OtherColumns, placeholdersIn, quoted, type ReadOptions } from "./entry.ts";
import { firstOf, type ManifestLine, withFirst } from "./lines.ts";
import { checkValues } from "./row-values.ts";

/**
 * A header that names the columns in any order, then one record for each row. An empty cell is not set; spreadsheets leave
 * out empty ones at the end of a row, or add some.
 */
export async function* readCsv(
  lines: AsyncGenerator<ManifestLine>,
  options: ReadOptions,
): AsyncGenerator<ManifestEntry> {
  let header = await firstOf(lines);
  const declared = header && declaredSeparator(header.text);
  if (declared !== undefined) header = await firstOf(lines);
  if (header === undefined) return;
  const separator = declared ?? separatorOf(header.text);
  let columns: Columns | undefined;
  for await (const found of readRecords(withFirst(header, lines), separator)) {
    if ("message" in found) {
      yield found;
      // Without a readable header, the first record would be taken for the header.
      if (columns === undefined) return;
    } else if (columns === undefined) {
      columns = found.cells.map((cell) => columnOf(cell) ?? cell.trim());
      for (const message of headerProblems(columns, options)) yield { line: found.line, message };
      // Every row would say the same again.
      if (
        !columns.includes("prompt") &&
        (options.template === undefined || lacking(columns, options.template)[0])
      )
        return;
    } else for (const row of readRow(found, columns, separator, options)) yield row;
  }
}

/** The names in the header: those of a request's columns as `ManifestColumn` spells them. */
type Columns = readonly string[];

const SEPARATORS: Readonly<Record<string, string>> = {
  ",": "comma",
  ";": "semicolon",
  "\t": "tab",
  "|": "bar",
};

/** What a first line says that separates cells: `sep=;`, as spreadsheets write and read it. Undefined for any other line. */
function declaredSeparator(line: string): string | undefined {
  return /^"?sep=([^\s\w"]|\t)"?\1*$/i.exec(line)?.[1];
}

/** What separates the cells of a header, outside quotes. If it has several, what makes most known columns of it. */
function separatorOf(header: string): string {
  const bare = header.replace(/"[^"]*"?/g, (cell) => cell.replace(/[",;\t]/g, " "));
  const columnCount = (separator: string) => bare.split(separator).filter((cell) => columnOf(cell)).length;
  const there = [",", ";", "\t"].filter((separator) => bare.includes(separator));
  return there.sort((a, b) => columnCount(b) - columnCount(a))[0] ?? ",";
}

function headerProblems(columns: Columns, options: ReadOptions): string[] {
  const { template } = options;
  const near = nearNames(
    columns.filter((name) => columnOf(name) === undefined),
    options,
  );
  const problems = [...near.map(({ message }) => message), ...repeated(columns)];
  if (columns.includes("prompt")) return problems;
  if (template !== undefined) return [...lackingProblems(columns, template), ...problems];
  if (near.some(({ meant }) => meant === "prompt")) return problems;
  if (columns.every((name) => columnOf(name) === undefined))
    return [`the first record names no known column; ${advice(columns)}`];
  return ["there is no column prompt", ...problems];
}

/** The names that a template asks for and the manifest does not have. */
function lacking(columns: Columns, template: string): string[] {
  return placeholdersIn(template).filter((name) => !columns.includes(columnOf(name) ?? name));
}

function lackingProblems(columns: Columns, template: string): string[] {
  return lacking(columns, template).map((name) => {
    const mostSlips = Math.min(2, Math.floor(name.length / 3));
    const slips = (column: string) => editDistance(column.toLowerCase(), name.toLowerCase());
    const meant = columns.find((column) => slips(column) <= mostSlips);
    const near = meant === undefined ? "" : `; did you mean ${quoted(meant)}?`;
    return `there is no column ${quoted(name)} for --template${near}`;
  });
}

function advice(columns: Columns): string {
  const isOther = columns[0]?.includes("|");
  return isOther ? "columns are separated by commas, semicolons or tabs" : `known are ${COLUMN_LIST}`;
}

function repeated(columns: Columns): string[] {
  const twice = columns.filter((name, index) => name !== "" && columns.indexOf(name) < index);
  return [...new Set(twice)].map(repeatedColumn);
}

function* readRow(
  { line, cells }: CsvRecord,
  columns: Columns,
  separator: string,
  options: ReadOptions,
): Generator<ManifestEntry> {
  if (cells.slice(columns.length).some((cell) => cell.trim() !== "")) {
    yield { line, message: cellCountProblem(cells.length, columns.length, separator) };
    return;
  }
  const others = otherColumns(cells, columns);
  const checked = checkValues(rawValues(cells, columns, options), others, options);
  if ("values" in checked) yield { line, values: checked.values, ...(others.size > 0 && { others }) };
  else for (const message of checked.problems) yield { line, message };
}

function cellCountProblem(cells: number, columns: number, separator: string): string {
  const name = SEPARATORS[separator] ?? separator;
  return `${cells} cells where the header has ${columns}; a cell with a ${name} in it is put in quotes`;
}

/** The prompt is kept as written; other cells are trimmed. A blank prompt is none if a template makes one. */
function rawValues(cells: readonly string[], columns: Columns, { template }: ReadOptions): RawValues {
  const raw: RawValues = {};
  columns.map(columnOf).forEach((column, index) => {
    const cell = cells[index] ?? "";
    if (column === "prompt" && (template === undefined || cell.trim() !== "")) raw.prompt = cell;
    else if (column !== undefined) raw[column] = cellValue(column, cell.trim());
  });
  return raw;
}

function otherColumns(cells: readonly string[], columns: Columns): OtherColumns {
  const unknown = columns.flatMap((name, at): [string, string][] =>
    name === "" || columnOf(name) !== undefined ? [] : [[name, (cells[at] ?? "").trim()]],
  );
  return new Map(unknown);
}

function cellValue(column: ManifestColumn, cell: string): unknown {
  if (cell === "") return undefined;
  const isList = column !== "output" && REQUEST_FIELDS[column] === "texts";
  return isList ? cell.split(/\s+/) : cell;
}
