import { firstInvalidByte } from "../../lib/read-file.ts";

/** One line of a manifest, without its line end. */
export interface ManifestLine {
  /** 1 for the first. */
  number: number;
  /** Invalid UTF-8 is replaced here; empty if the line is cut. */
  text: string;
  /** Why the line cannot be used; null if it can. */
  problem: string | null;
  /** Whether the line was too long to keep. */
  cut: boolean;
}

/** Over ten times the longest prompt: a longer line means a wrong file, and must not fill the memory. */
export const LONGEST_LINE_BYTES = 1024 * 1024;

/** Far more than a million prompts: input that goes on is not a manifest, and may have no end. */
const MOST_BYTES = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const UTF16_MARKS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

/**
 * The lines of a text in UTF-8, each with its number. Lines end in LF or CRLF, and the last may have no end;
 * a byte-order mark is no part of the first. No more than one line is kept in memory. The line at which the text
 * becomes longer than 64 MiB is a problem and the last.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ManifestLine> {
  const cutter = new LineCutter();
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    for (const line of cutter.lines(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) {
      yield line;
      if (line.problem === UTF16_PROBLEM) return;
    }
    if (size > MOST_BYTES) {
      yield cutter.stop("the manifest is longer than 64 MiB; split it");
      return;
    }
  }
  yield* cutter.rest();
}

const UTF16_PROBLEM = "UTF-16 text, which is not read; save it as UTF-8";

class LineCutter {
  #parts: Buffer[] = [];
  /** Bytes of the line so far without its line end, including those not kept. */
  #size = 0;
  #number = 0;
  /** Offset of the line's start in the text, in bytes. */
  #offset = 0;

  /** The lines that end in a chunk. */
  *lines(chunk: Buffer): Generator<ManifestLine> {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      yield this.#finish();
    }
    this.#keep(chunk.subarray(from));
  }

  /** The last line, where nothing ended it. */
  *rest(): Generator<ManifestLine> {
    if (this.#size > 0) yield this.#finish();
  }

  /** The line that the text ends in, in place of which a problem is reported. */
  stop(problem: string): ManifestLine {
    return { number: this.#number + 1, text: "", problem, cut: true };
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#isTooLong()) this.#parts = [];
    else this.#parts.push(part);
  }

  /** One byte more is allowed, for the carriage return of a CRLF. */
  #isTooLong(): boolean {
    return this.#size > LONGEST_LINE_BYTES + 1;
  }

  #finish(): ManifestLine {
    const cut = this.#isTooLong();
    const bytes = this.#parts.length === 1 && this.#parts[0] ? this.#parts[0] : Buffer.concat(this.#parts);
    const offset = this.#offset;
    this.#offset += this.#size + 1;
    this.#parts = [];
    this.#size = 0;
    this.#number += 1;
    if (cut) return { number: this.#number, text: "", problem: TOO_LONG, cut };
    return { number: this.#number, ...decode(bytes, offset), cut };
  }
}

const TOO_LONG = "longer than 1 MiB";

function decode(bytes: Buffer, offset: number): Pick<ManifestLine, "text" | "problem"> {
  const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
  const start = offset === 0 && startsWith(bytes, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  const body = bytes.subarray(start, end);
  if (offset === 0 && UTF16_MARKS.some((mark) => startsWith(bytes, mark)))
    return { text: "", problem: UTF16_PROBLEM };
  return { text: body.toString("utf8"), problem: byteProblem(body, offset + start) };
}

/** A problem that makes a line invalid in every format. Offsets count from the start of the text. */
function byteProblem(bytes: Buffer, offset: number): string | null {
  const invalid = firstInvalidByte(bytes);
  if (invalid !== -1) return `not valid UTF-8 (at byte ${offset + invalid}); save it as UTF-8`;
  const nul = bytes.indexOf(0);
  if (nul !== -1) return `a NUL character (at byte ${offset + nul})`;
  const lone = bytes.indexOf(CARRIAGE_RETURN);
  if (lone !== -1) return `a carriage return alone (at byte ${offset + lone}); lines end in LF or CRLF`;
  return null;
}

function startsWith(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}

/** The first line that is not blank. The generator stays open. */
export async function firstOf(lines: AsyncGenerator<ManifestLine>): Promise<ManifestLine | undefined> {
  for (let next = await lines.next(); !next.done; next = await lines.next())
    if (next.value.problem !== null || next.value.text.trim() !== "") return next.value;
  return undefined;
}

export async function* withFirst(
  first: ManifestLine,
  rest: AsyncGenerator<ManifestLine>,
): AsyncGenerator<ManifestLine> {
  yield first;
  yield* rest;
}
