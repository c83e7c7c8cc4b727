import { CsvError, parse } from "csv-parse/sync";
import { editDistance } from "../../lib/edit-distance.ts";
import { REQUEST_FIELDS } from "../../task/request-fields.ts";
import type { ManifestProblem } from "../errors.ts";
import {
  COLUMN_LIST,
  findColumn,
  findMisspelled,
  listPlaceholders,
  type ManifestColumn,
  type ManifestEntry,
  type OtherColumns,
  quote,
  type RawValues,
  type ReadOptions,
  repeatedColumnProblem,
} from "./entry.ts";
import { MAX_LINE_BYTES, type ManifestLine, readLines, withLineFeeds } from "./lines.ts";
import { checkValues } from "./row-values.ts";

/** An empty cell counts as not set, because spreadsheets omit or add empty cells at the end of a row. */
export function* readCsv(bytes: Buffer, options: ReadOptions): Generator<ManifestEntry> {
  const lines = readLines(bytes);
  let header = nextLine(lines);
  const declaredSeparator = header && parseSeparatorLine(header.text);
  const skippedLines = declaredSeparator === undefined ? 0 : (header?.number ?? 0);
  if (declaredSeparator !== undefined) header = nextLine(lines);
  if (header === undefined) return;
  if (header.problem !== null) {
    yield { line: header.number, message: header.problem };
    return;
  }
  const separator = declaredSeparator ?? findSeparator(header.text);
  let columns: Columns | undefined;
  for (const entry of readRecords(bytes, separator, skippedLines)) {
    if ("message" in entry) {
      yield entry;
      // Without a valid header, the columns of all records are unknown, so reading stops.
      if (columns === undefined) return;
    } else if (columns === undefined) {
      columns = entry.cells.map((cell) => findColumn(cell) ?? cell.trim());
      for (const message of headerProblems(columns, options)) yield { line: entry.line, message };
      // Every row would have the same problem, so reading stops.
      if (
        !columns.includes("prompt") &&
        (options.template === undefined || missingColumns(columns, options.template)[0])
      )
        return;
    } else yield* readRow(entry, columns, separator, options);
  }
}

function nextLine(lines: Iterator<ManifestLine>): ManifestLine | undefined {
  for (let next = lines.next(); !next.done; next = lines.next())
    if (next.value.problem !== null || next.value.text.trim() !== "") return next.value;
  return undefined;
}

interface CsvRecord {
  line: number;
  cells: string[];
}

const QUOTE_INSIDE = 'misplaced quote; inside a quoted cell, write a quote twice ("")';
const QUOTE_OUTSIDE =
  'misplaced quote; use quotes around a cell that contains a quote, and write that inner quote twice ("")';
const TOO_LONG = "a record longer than 1 MiB (is a quote unclosed?)";

/** Yields records (RFC 4180) and problems in the order of lines. After a misplaced quote, the next line is parsed. */
function* readRecords(
  bytes: Buffer,
  separator: string,
  skippedLines: number,
): Generator<CsvRecord | ManifestProblem> {
  const problems = new LineProblems(bytes);
  let rest = withLineFeeds(bytes);
  rest = rest.subarray(lineOffset(rest, skippedLines));
  let linesAbove = skippedLines;
  while (rest.length > 0) {
    const { records, error } = parseRecords(rest, separator);
    let end = 0;
    let endLine = 0;
    for (const record of records) {
      const line = linesAbove + record.line;
      const lastBadLine = yield* problems.yieldUntil(linesAbove + record.endLine);
      if (record.end - end > MAX_LINE_BYTES && lastBadLine < line) yield { line, message: TOO_LONG };
      else if (lastBadLine < line) yield { line, cells: record.cells };
      ({ end, endLine } = record);
    }
    if (error === null && records.length < MAX_PARSED_RECORDS) break;
    if (error !== null) {
      const isUnclosed = error.code === "CSV_QUOTE_NOT_CLOSED";
      const { line, message } = isUnclosed
        ? findUnclosedQuote(rest.subarray(end), separator, endLine)
        : { line: error.lines, message: quoteProblem(error) };
      const lastBadLine = yield* problems.yieldUntil(linesAbove + line);
      if (lastBadLine < linesAbove + line) yield { line: linesAbove + line, message };
      if (isUnclosed) break;
      end += lineOffset(rest.subarray(end), error.lines - endLine);
      endLine = error.lines;
    }
    rest = rest.subarray(end);
    linesAbove += endLine;
  }
  yield* problems.yieldUntil(Number.POSITIVE_INFINITY);
}

class LineProblems {
  readonly #lines: Iterator<ManifestLine>;
  #number = 0;
  #lastBadLine = 0;

  constructor(bytes: Buffer) {
    this.#lines = readLines(bytes);
  }

  /** @returns the last line with a problem, or 0 */
  *yieldUntil(line: number): Generator<ManifestProblem, number> {
    while (this.#number < line) {
      const { value, done } = this.#lines.next();
      if (done) break;
      this.#number = value.number;
      if (value.problem === null) continue;
      this.#lastBadLine = value.number;
      yield { line: value.number, message: value.problem };
    }
    return this.#lastBadLine;
  }
}

/** Maximum number of records in memory, because records are checked only after all of them are parsed. */
const MAX_PARSED_RECORDS = 10_000;

interface ParsedRecord extends CsvRecord {
  endLine: number;
  /** Offset of the record's end, in bytes. */
  end: number;
}

/** Returns at most `MAX_PARSED_RECORDS` records, and the error that ended parsing, or null. */
function parseRecords(
  bytes: Buffer,
  separator: string,
): { records: ParsedRecord[]; error: QuoteError | null } {
  const records: ParsedRecord[] = [];
  try {
    parse(bytes, {
      delimiter: separator,
      record_delimiter: "\n",
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      to: MAX_PARSED_RECORDS,
      on_record(cells: string[], { lines, bytes: end }) {
        const breaks = cells.reduce((sum, cell) => sum + countLineBreaks(cell), 0);
        records.push({ cells, line: lines - breaks, endLine: lines, end });
        return null;
      },
    });
    return { records, error: null };
  } catch (error) {
    if (error instanceof CsvError && isQuoteError(error)) return { records, error };
    throw error;
  }
}

type QuoteError = CsvError & { lines: number; column: number };

function isQuoteError(error: CsvError): error is QuoteError {
  return "lines" in error && "column" in error && /QUOTE/.test(error.code);
}

function quoteProblem({ code, column }: QuoteError): string {
  return `cell ${column + 1}: ${code === "CSV_INVALID_CLOSING_QUOTE" ? QUOTE_INSIDE : QUOTE_OUTSIDE}`;
}

/** Locates the unclosed quote in the last record, which is parsed with an added closing quote to find the cell. */
function findUnclosedQuote(record: Buffer, separator: string, linesAbove: number): ManifestProblem {
  const [closed] = parseRecords(Buffer.concat([record, Buffer.from('"')]), separator).records;
  const { cells = [""], endLine = 1 } = closed ?? {};
  const line = linesAbove + endLine - countLineBreaks(cells.at(-1) ?? "");
  return { line, message: `cell ${cells.length}: unclosed quote` };
}

function lineOffset(bytes: Buffer, lines: number): number {
  let start = 0;
  for (let count = 0; count < lines; count += 1) {
    const end = bytes.indexOf("\n", start);
    if (end === -1) return bytes.length;
    start = end + 1;
  }
  return start;
}

function countLineBreaks(cell: string): number {
  return cell.split("\n").length - 1;
}

/** Names in the header, with known names in the spelling of `ManifestColumn`. */
type Columns = readonly string[];

const SEPARATORS: Readonly<Record<string, string>> = {
  ",": "comma",
  ";": "semicolon",
  "\t": "tab",
  "|": "bar",
};

/** Returns the separator of a line such as `sep=;`, which spreadsheets write; undefined for any other line. */
function parseSeparatorLine(line: string): string | undefined {
  return /^"?sep=([^\s\w"]|\t)"?\1*$/i.exec(line)?.[1];
}

function findSeparator(header: string): string {
  const unquoted = header.replace(/"[^"]*"?/g, (cell) => cell.replace(/[",;\t]/g, " "));
  const columnCount = (separator: string) =>
    unquoted.split(separator).filter((cell) => findColumn(cell)).length;
  const candidates = [",", ";", "\t"].filter((separator) => unquoted.includes(separator));
  return candidates.sort((a, b) => columnCount(b) - columnCount(a))[0] ?? ",";
}

function headerProblems(columns: Columns, options: ReadOptions): string[] {
  const { template } = options;
  const misspelled = findMisspelled(
    columns.filter((name) => findColumn(name) === undefined),
    options,
  );
  const problems = [...misspelled.map(({ message }) => message), ...repeatedColumnProblems(columns)];
  if (columns.includes("prompt")) return problems;
  if (template !== undefined) return [...missingColumnProblems(columns, template), ...problems];
  if (misspelled.some(({ nearest }) => nearest === "prompt")) return problems;
  if (columns.every((name) => findColumn(name) === undefined))
    return [`the first record has no known column; ${columnAdvice(columns)}`];
  return ["the column prompt is missing", ...problems];
}

function missingColumns(columns: Columns, template: string): string[] {
  return listPlaceholders(template).filter((name) => !columns.includes(findColumn(name) ?? name));
}

function missingColumnProblems(columns: Columns, template: string): string[] {
  return missingColumns(columns, template).map((name) => {
    const maxEdits = Math.min(2, Math.floor(name.length / 3));
    const countEdits = (column: string) => editDistance(column.toLowerCase(), name.toLowerCase());
    const nearest = columns.find((column) => countEdits(column) <= maxEdits);
    const near = nearest === undefined ? "" : `; did you mean ${quote(nearest)}?`;
    return `the template needs the column ${quote(name)}, which is missing${near}`;
  });
}

function columnAdvice(columns: Columns): string {
  const isBarSeparated = columns[0]?.includes("|");
  return isBarSeparated
    ? "columns are separated by commas, semicolons or tabs"
    : `known columns: ${COLUMN_LIST}`;
}

function repeatedColumnProblems(columns: Columns): string[] {
  const duplicates = columns.filter((name, index) => name !== "" && columns.indexOf(name) < index);
  return [...new Set(duplicates)].map(repeatedColumnProblem);
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
  return `${cells} cells, but the header has ${columns}; use quotes around a cell that contains a ${name}`;
}

/** Trims all cells except the prompt. A blank prompt counts as not set if a template can replace it. */
function rawValues(cells: readonly string[], columns: Columns, { template }: ReadOptions): RawValues {
  const raw: RawValues = {};
  columns.map(findColumn).forEach((column, index) => {
    const cell = cells[index] ?? "";
    if (column === "prompt" && (template === undefined || cell.trim() !== "")) raw.prompt = cell;
    else if (column !== undefined) raw[column] = cellValue(column, cell.trim());
  });
  return raw;
}

function otherColumns(cells: readonly string[], columns: Columns): OtherColumns {
  const unknown = columns.flatMap((name, at): [string, string][] =>
    name === "" || findColumn(name) !== undefined ? [] : [[name, (cells[at] ?? "").trim()]],
  );
  return new Map(unknown);
}

function cellValue(column: ManifestColumn, cell: string): unknown {
  if (cell === "") return undefined;
  const isList = column !== "output" && REQUEST_FIELDS[column] === "texts";
  return isList ? cell.split(/\s+/) : cell;
}
