import { once } from "node:events";
import { finished } from "node:stream/promises";
import type { CsvError, Options, Parser } from "csv-parse";
import type { LineProblem } from "./entry.ts";
import { LONGEST_LINE_BYTES, type ManifestLine } from "./lines.ts";

/** A record's cells, and the line where it starts. */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/** Each takes time in proportion to its record, so a hostile file could keep the parser busy for hours. */
const MOST_BROKEN_QUOTES = 100;

/** Thrown to end parsing inside the library; never leaves this file. */
const STOP = new Error("the parsing stops here");

/**
 * The records of a CSV manifest (RFC 4180), parsed strictly: a misplaced quote is a problem, and its record is left
 * out. Cells may span lines, whose line ends become LF. Blank lines between records are skipped.
 */
export async function* readRecords(
  lines: AsyncIterable<ManifestLine>,
  separator: string,
): AsyncGenerator<CsvRecord | LineProblem> {
  const { parse } = await import("csv-parse");
  const pending = new PendingLines();
  const found: (CsvRecord | LineProblem)[] = [];
  const parser = parse({ ...strictly(pending, found), delimiter: separator }).on("error", () => {
    // Ends the loop below that waits for the parser.
  });
  for await (const line of lines) {
    pending.add(line);
    // Without the text of one line it is not known which quotes open and which close.
    if (line.cut) pending.stop();
    else await write(parser, line.text, pending);
    for (const each of found.splice(0)) yield each;
    if (pending.stopped) break;
  }
  await end(parser);
  yield* found;
  yield* pending.rest();
}

/** Feeds the parser lines that end in LF. Its own line numbers are not used: it counts CRLF inside quotes twice. */
async function write(parser: Parser, text: string, pending: PendingLines): Promise<void> {
  const goesOn = parser.write(`${text}\n`);
  if (!goesOn && !pending.stopped) await once(parser, "drain");
}

async function end(parser: Parser): Promise<void> {
  parser.end();
  await finished(parser, { readable: false }).catch((error) => {
    if (error !== STOP) throw error;
  });
}

function strictly(pending: PendingLines, found: (CsvRecord | LineProblem)[]): Options {
  return {
    record_delimiter: "\n",
    // csv-rows.ts compares the number of cells with the header.
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: LONGEST_LINE_BYTES,
    on_record: (cells: string[], { bytes }) => {
      const { line, problems } = pending.take(bytes, heightOf(cells));
      found.push(...problems);
      if (line !== null) found.push({ line, cells });
      return null;
    },
    on_skip: (error) => {
      if (error !== undefined) blame(error, pending);
      return undefined;
    },
  };
}

/** How many lines a record spans. */
function heightOf(cells: readonly string[]): number {
  let height = 1;
  for (const cell of cells)
    for (let at = cell.indexOf("\n"); at !== -1; at = cell.indexOf("\n", at + 1)) height += 1;
  return height;
}

/** Records a problem at its line. @throws STOP if the rest cannot be parsed */
function blame(error: CsvError, pending: PendingLines): void {
  const [cell, bytes] = [Number(error.column) + 1, Number(error.bytes)];
  if (error.code === "CSV_MAX_RECORD_SIZE") {
    pending.stop("a record longer than 1 MiB (is a quote not closed?)", bytes);
    throw STOP;
  }
  pending.blame(`cell ${cell}: ${QUOTE_PROBLEMS[error.code] ?? error.message}`, bytes);
  if (pending.blamed < MOST_BROKEN_QUOTES) return;
  pending.stop("too many quotes out of place", bytes);
  throw STOP;
}

const QUOTE_PROBLEMS: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: 'a quote out of place; inside a quoted cell a quote is written twice ("")',
  INVALID_OPENING_QUOTE:
    'a quote out of place; a cell that holds one is put in quotes, and the quote written twice ("")',
  CSV_QUOTE_NOT_CLOSED: "a quote that opens here is not closed",
};

interface PendingLine {
  number: number;
  /** Offset of the line's end, after its LF, in the bytes fed to the parser. */
  end: number;
  blank: boolean;
  problem: string | null;
}

/**
 * The lines that were fed to the CSV parser and are not in a record yet. The parser reports offsets in bytes; this maps
 * them to lines, and keeps problems in the order of records.
 */
class PendingLines {
  #lines: PendingLine[] = [];
  #fed = 0;
  /** How many problems the parser has reported. */
  blamed = 0;
  /** Whether reading has stopped. */
  stopped = false;

  /** Adds a line that is about to be fed to the parser with an LF. */
  add({ number, text, problem }: ManifestLine): void {
    this.#fed += Buffer.byteLength(text) + 1;
    this.#lines.push({ number, end: this.#fed, blank: text === "", problem });
  }

  /** Records a problem at an offset, in bytes fed. A line keeps its first problem. */
  blame(problem: string, place: number): void {
    this.blamed += 1;
    // After reading stopped early, a further problem is only a consequence of that.
    if (this.stopped) return;
    const line = this.#lineAt(place);
    if (line !== undefined) line.problem ??= problem;
  }

  /** Records that reading stops at an offset, or at the last line, and why. */
  stop(why?: string, place = this.#fed - 1): void {
    this.stopped = true;
    const line = this.#lineAt(place);
    if (line === undefined) return;
    const problems = [line.problem, why, "nothing below is read"];
    line.problem = problems.filter((problem) => typeof problem === "string").join("; ");
  }

  #lineAt(place: number): PendingLine | undefined {
    return this.#lines.find(({ end, blank }) => end > place && !blank) ?? this.#lines.at(-1);
  }

  /**
   * Removes the lines up to the end of a record; the last `height` of them are the record's own.
   * @returns the problems of all removed lines, and the record's first line; null if one of its own is unusable
   */
  take(end: number, height: number): { line: number | null; problems: LineProblem[] } {
    const after = this.#lines.findIndex((line) => line.end > end);
    const lines = this.#lines.splice(0, after === -1 ? this.#lines.length : after);
    const own = lines.slice(-height);
    const usable = own.every(({ problem }) => problem === null);
    return { line: usable ? (own[0]?.number ?? null) : null, problems: lines.flatMap(problemOf) };
  }

  /** The problems of lines that are part of no record. */
  rest(): LineProblem[] {
    return this.#lines.splice(0).flatMap(problemOf);
  }
}

function problemOf({ number, problem }: PendingLine): LineProblem[] {
  return problem === null ? [] : [{ line: number, message: problem }];
}
