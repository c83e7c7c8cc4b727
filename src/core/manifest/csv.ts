import { CsvError, parse } from "csv-parse/sync";
import type { ManifestProblem } from "../engine/errors.ts";
import { LONGEST_LINE_BYTES, type ManifestLine } from "./lines.ts";

/** A record's cells, and the line where it starts. */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/**
 * The records of a CSV manifest (RFC 4180), by csv-parse: a misplaced quote is a problem, and its record is left out.
 * Cells may span lines, whose line ends become LF. Blank lines are skipped, and records of nothing but separators, which
 * spreadsheets write.
 */
export async function* readRecords(
  lines: AsyncIterable<ManifestLine>,
  separator: string,
): AsyncGenerator<CsvRecord | ManifestProblem> {
  const unread = new UnreadLines(separator);
  for await (const line of lines) {
    // Without the text of one line it is not known which quotes open and which close.
    if (line.cut) {
      yield* unread.records();
      yield { line: line.number, message: `${line.problem}; ${NO_MORE}` };
      return;
    }
    unread.add(line);
    if (!unread.areEnough) continue;
    yield* unread.records();
    if (!unread.areTooLong) continue;
    const { line: opened } = unread.openQuote();
    yield { line: opened, message: `a record longer than 1 MiB (is a quote not closed?); ${NO_MORE}` };
    return;
  }
  yield* unread.records();
  if (unread.isEmpty) return;
  const { line, cell } = unread.openQuote();
  yield* unread.problems({ line, message: `cell ${cell}: a quote that opens here is not closed` });
}

const INSIDE = 'a quote out of place; inside a quoted cell a quote is written twice ("")';
const OUTSIDE =
  'a quote out of place; a cell that holds one is put in quotes, and the quote written twice ("")';
const NO_MORE = "nothing below is read";

/** So much text is parsed at once, in characters. */
const ENOUGH = 64 * 1024;

/** Lines that are not parsed yet. After `records`, those of a record that is still open are left. */
class UnreadLines {
  readonly #separator: string;
  #lines: ManifestLine[] = [];
  #length = 0;
  #enough = ENOUGH;

  constructor(separator: string) {
    this.#separator = separator;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  get areEnough(): boolean {
    return this.#length >= this.#enough;
  }

  get areTooLong(): boolean {
    return this.#length > LONGEST_LINE_BYTES;
  }

  add(line: ManifestLine): void {
    this.#lines.push(line);
    this.#length += line.text.length + 1;
  }

  *records(): Generator<CsvRecord | ManifestProblem> {
    while (!this.isEmpty) {
      const { records, error } = parsed(`${this.#text()}\n`, this.#separator);
      let end = 0;
      for (const record of records) {
        yield* this.#record(record, end);
        end = record.end;
      }
      this.#drop(end);
      if (error?.code === "CSV_QUOTE_NOT_CLOSED") break;
      const isWhole = error === null;
      const bad = isWhole ? this.#lines.length : error.lines - end;
      const number = this.#lines[bad - 1]?.number ?? 0;
      yield* this.problems(isWhole ? null : { line: number, message: quoteProblem(error) }, bad);
      this.#drop(bad);
    }
    // What is open is parsed again, but not at every line.
    this.#enough = Math.max(ENOUGH, Math.min(2 * this.#length, LONGEST_LINE_BYTES + 1));
  }

  /** The quote that is not closed: its line, and its cell's number. */
  openQuote(): { line: number; cell: number } {
    const [record] = parsed(`${this.#text()}"`, this.#separator).records;
    const at = this.#lines.length - 1 - breaksIn(record?.cells.at(-1) ?? "");
    return { line: this.#lines[at]?.number ?? 0, cell: record?.cells.length ?? 1 };
  }

  /** What is wrong with the first lines themselves and one thing more, in order. A line has one problem, the first. */
  *problems(more: ManifestProblem | null, count = this.#lines.length): Generator<ManifestProblem> {
    const lineProblems = this.#lines.slice(0, count).flatMap(({ number, problem }) => {
      return problem === null ? [] : [{ line: number, message: problem }];
    });
    const isNew = more !== null && lineProblems.every(({ line }) => line !== more.line);
    yield* (isNew ? [...lineProblems, more] : lineProblems).sort((a, b) => a.line - b.line);
  }

  /** A record, or what is wrong with its lines and those that were skipped before it. */
  *#record({ cells, start, end }: ParsedRecord, from: number): Generator<CsvRecord | ManifestProblem> {
    const lines = this.#lines.slice(from, end);
    for (const { number, problem } of lines) if (problem !== null) yield { line: number, message: problem };
    if (lines.slice(start - from).every(({ problem }) => problem === null))
      yield { line: this.#lines[start]?.number ?? 0, cells };
  }

  #drop(count: number): void {
    const dropped = this.#lines.splice(0, count);
    for (const { text } of dropped) this.#length -= text.length + 1;
  }

  /** The parser counts a carriage return as a line; only lines that are left out have one. */
  #text(): string {
    return this.#lines.map(({ text }) => text.replaceAll("\r", " ")).join("\n");
  }
}

/** A record, and the offsets of its first line and of the line after its last. */
interface ParsedRecord {
  cells: string[];
  start: number;
  end: number;
}

/** The records of a text, and the error that ended it. */
function parsed(text: string, separator: string): { records: ParsedRecord[]; error: QuoteError | null } {
  const records: ParsedRecord[] = [];
  try {
    parse(text, {
      delimiter: separator,
      record_delimiter: "\n",
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      on_record(cells: string[], { lines }) {
        const breaks = cells.reduce((sum, cell) => sum + breaksIn(cell), 0);
        records.push({ cells, start: lines - 1 - breaks, end: lines });
        return null;
      },
    });
    return { records, error: null };
  } catch (error) {
    if (error instanceof CsvError && isQuoteError(error)) return { records, error };
    throw error;
  }
}

/** An error of the parser's, with the number of the line in the text, and of the cell before that with the quote. */
type QuoteError = CsvError & { lines: number; column: number };

function isQuoteError(error: CsvError): error is QuoteError {
  return "lines" in error && "column" in error && /QUOTE/.test(error.code);
}

function quoteProblem({ code, column }: QuoteError): string {
  return `cell ${column + 1}: ${code === "CSV_INVALID_CLOSING_QUOTE" ? INSIDE : OUTSIDE}`;
}

function breaksIn(cell: string): number {
  return cell.split("\n").length - 1;
}
