import type { LineProblem } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";

interface PendingLine {
  number: number;
  /** Where the line ends in what was fed to the parser, its LF included, in bytes. */
  end: number;
  blank: boolean;
  problem: string | null;
}

/**
 * The lines between the CSV parser's input and its output. The parser tells places in bytes; here they become
 * lines again, and what is wrong with a line keeps its place in the order of records.
 */
export class PendingLines {
  #lines: PendingLine[] = [];
  #fed = 0;
  /** How often a line was blamed. */
  blamed = 0;
  /** Whether nothing more is to be read. */
  stopped = false;

  /** Remembers a line that is about to be fed with an LF at its end. */
  add({ number, text, problem }: ManifestLine): void {
    this.#fed += Buffer.byteLength(text) + 1;
    this.#lines.push({ number, end: this.#fed, blank: text === "", problem });
  }

  /** Notes a problem at a place, in bytes of what was fed. A line that has one already keeps that. */
  blame(problem: string, place: number): void {
    this.blamed += 1;
    // What seems wrong once the reading has stopped short is only that.
    if (this.stopped) return;
    const line = this.#lineAt(place);
    if (line !== undefined) line.problem ??= problem;
  }

  /** Notes at a place, or at the last line, that nothing is read from there on, and why. */
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
   * Lets go of the lines up to the end of a record, of which as many as the record is high are its own: what is
   * wrong with all of them, and where the record starts, or null where one of its own cannot be used.
   */
  take(end: number, height: number): { line: number | null; troubles: LineProblem[] } {
    const after = this.#lines.findIndex((line) => line.end > end);
    const lines = this.#lines.splice(0, after === -1 ? this.#lines.length : after);
    const own = lines.slice(-height);
    const usable = own.every(({ problem }) => problem === null);
    return { line: usable ? (own[0]?.number ?? null) : null, troubles: lines.flatMap(troubleOf) };
  }

  /** What is wrong with the lines that no record came of. */
  rest(): LineProblem[] {
    return this.#lines.splice(0).flatMap(troubleOf);
  }
}

function troubleOf({ number, problem }: PendingLine): LineProblem[] {
  return problem === null ? [] : [{ line: number, message: problem }];
}
