import { firstInvalidByte } from "../../lib/read-file.ts";

export interface ManifestLine {
  number: number;
  /** Text, with invalid UTF-8 replaced. */
  text: string;
  /** Problem that makes the line unusable, or null. */
  problem: string | null;
}

/** Maximum length of a line: more than ten times the longest prompt. */
export const MAX_LINE_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const UTF16_MARKS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];

/** Yields the lines of a UTF-8 text without its byte-order mark. UTF-16 text is one line with a problem. */
export function* readLines(bytes: Buffer): Generator<ManifestLine> {
  if (UTF16_MARKS.some((mark) => startsWith(bytes, mark))) {
    yield { number: 1, text: "", problem: "UTF-16 text is unsupported; save it as UTF-8" };
    return;
  }
  let start = startsWith(bytes, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const lineEnd = bytes.indexOf(LINE_FEED, start);
    const end = lineEnd === -1 ? bytes.length : lineEnd;
    const line = bytes.subarray(start, bytes[end - 1] === CARRIAGE_RETURN && end > start ? end - 1 : end);
    yield { number, text: line.toString("utf8"), problem: lineProblem(line, start) };
    start = end + 1;
  }
}

/** Replaces CRLF with LF, and each other carriage return with a space, for the CSV parser. */
export function withLineFeeds(bytes: Buffer): Buffer {
  const text = bytes.subarray(startsWith(bytes, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0);
  if (!text.includes(CARRIAGE_RETURN)) return text;
  // In Latin-1, every byte is one character, so that no byte is lost.
  const lines = text.toString("latin1").replaceAll("\r\n", "\n").replaceAll("\r", " ");
  return Buffer.from(lines, "latin1");
}

/** @param offset from the start of the file */
function lineProblem(line: Buffer, offset: number): string | null {
  if (line.length > MAX_LINE_BYTES) return "longer than 1 MiB";
  const invalid = firstInvalidByte(line);
  if (invalid !== -1) return `not valid UTF-8 (at byte ${offset + invalid}); save it as UTF-8`;
  const nul = line.indexOf(0);
  if (nul !== -1) return `a NUL character (at byte ${offset + nul})`;
  const loneReturn = line.indexOf(CARRIAGE_RETURN);
  if (loneReturn !== -1)
    return `a carriage return without a line feed (at byte ${offset + loneReturn}); lines end in LF or CRLF`;
  return null;
}

function startsWith(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}
