import type { LineProblem } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";

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
export class PendingLines {
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
