import type { ManifestProblem } from "../errors.ts";
import { LONGEST_LINE_BYTES, type ManifestLine } from "./lines.ts";

/** A record's cells, and the line where it starts. */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/**
 * The records of a CSV manifest (RFC 4180), read strictly: a misplaced quote is a problem, and its record is left out.
 * Cells may span lines, whose line ends become LF. Blank lines between records are skipped.
 */
export async function* readRecords(
  lines: AsyncIterable<ManifestLine>,
  separator: string,
): AsyncGenerator<CsvRecord | ManifestProblem> {
  let record: RecordReader | null = null;
  for await (const line of lines) {
    if (record === null && line.text === "" && line.problem === null) continue;
    record ??= new RecordReader(line.number, separator);
    record.add(line);
    if (record.isOpen) continue;
    yield* record.found();
    // Without the text of one line it is not known which quotes open and which close.
    if (line.cut || record.isTooLong) return;
    record = null;
  }
  if (record === null) return;
  record.blame(NOT_CLOSED);
  yield* record.found();
}

const INSIDE = 'a quote out of place; inside a quoted cell a quote is written twice ("")';
const OUTSIDE =
  'a quote out of place; a cell that holds one is put in quotes, and the quote written twice ("")';
const NOT_CLOSED = "a quote that opens here is not closed";
const NO_MORE = "nothing below is read";

/** Reads the lines of one record. */
class RecordReader {
  /** Whether the next line belongs to it too. */
  isOpen = false;
  isTooLong = false;
  readonly #line: number;
  readonly #separator: string;
  readonly #cells: string[] = [];
  readonly #problems: ManifestProblem[] = [];
  /** A quoted cell that is not closed yet, and the line where its quote opens. */
  #quoted: { text: string; line: number } | null = null;
  #length = 0;

  /** @param line where it starts */
  constructor(line: number, separator: string) {
    this.#line = line;
    this.#separator = separator;
  }

  add({ number, text, problem, cut }: ManifestLine): void {
    if (problem !== null) this.#tell(number, cut ? `${problem}; ${NO_MORE}` : problem);
    this.#length += text.length + 1;
    for (let at = 0; at <= text.length; ) at = this.#readCell(number, text, at);
    this.isTooLong = this.#quoted !== null && this.#length > LONGEST_LINE_BYTES;
    if (this.isTooLong)
      this.#tell(
        this.#quoted?.line ?? number,
        `a record longer than 1 MiB (is a quote not closed?); ${NO_MORE}`,
      );
    this.isOpen = this.#quoted !== null && !this.isTooLong && !cut;
  }

  /** Its problems in the order of their lines, or its cells if there are none. */
  found(): (CsvRecord | ManifestProblem)[] {
    if (this.#problems.length === 0) return [{ line: this.#line, cells: this.#cells }];
    // A quote that is not closed is noticed at the end, and blamed on the line where it opens.
    return this.#problems.sort((a, b) => a.line - b.line);
  }

  /** Notes what is wrong with the next cell, by default on the line where its quote opens. */
  blame(problem: string, line = this.#quoted?.line ?? this.#line): void {
    this.#tell(line, `cell ${this.#cells.length + 1}: ${problem}`);
    this.#quoted = null;
  }

  /** A line has one problem, the first. */
  #tell(line: number, message: string): void {
    if (!this.#problems.some((problem) => problem.line === line)) this.#problems.push({ line, message });
  }

  /**
   * Reads from an offset in a line to the end of a cell, or of a part of one.
   * @returns the next offset; past the line's end at its end
   */
  #readCell(line: number, text: string, from: number): number {
    if (this.#quoted === null && text[from] !== '"') {
      const next = text.indexOf(this.#separator, from);
      const end = next === -1 ? text.length : next;
      const cell = text.slice(from, end);
      if (cell.includes('"')) return this.#skip(line, text, OUTSIDE);
      this.#cells.push(cell);
      return end + 1;
    }
    const start = this.#quoted === null ? from + 1 : from;
    this.#quoted ??= { text: "", line };
    const quoted = this.#quoted;
    const end = text.indexOf('"', start);
    if (end === -1) {
      quoted.text += `${text.slice(start)}\n`;
      return text.length + 1;
    }
    quoted.text += text.slice(start, end);
    if (text[end + 1] === '"') {
      quoted.text += '"';
      return end + 2;
    }
    if (end + 1 < text.length && text[end + 1] !== this.#separator) return this.#skip(line, text, INSIDE);
    this.#cells.push(quoted.text);
    this.#quoted = null;
    return end + 2;
  }

  /** Leaves out the rest of a line. */
  #skip(line: number, text: string, problem: string): number {
    this.blame(problem, line);
    return text.length + 1;
  }
}
