import type { ByteWindow } from "./byte-window.ts";

/** The unit of the ISO base media format, on which AVIF is built. */
export interface Box {
  type: string;
  start: number;
  /** Where its contents begin. */
  body: number;
  /** Where the next box begins. */
  end: number;
}

const HEADER_BYTES = 8;
/** Far more than a real file has; a hostile one could contain millions of empty boxes. */
const MOST_BOXES = 65_536;

/** The boxes from one position to another. One that reaches beyond `to` is yielded too, as the last. */
export async function* boxes(file: ByteWindow, from: number, to: number): AsyncGenerator<Box> {
  let at = from;
  for (let count = 0; at < to && count < MOST_BOXES; count += 1) {
    const box = await readBox(file, at, to);
    if (box === null) return;
    yield box;
    at = box.end;
  }
}

/** The first box of a type between two positions. */
export async function firstBox(
  file: ByteWindow,
  from: number,
  to: number,
  type: string,
): Promise<Box | null> {
  for await (const box of boxes(file, from, to)) {
    if (box.type === type) return box.end > to ? null : box;
  }
  return null;
}

/** `null` if there is no room for a header, or if its length or type is invalid. */
async function readBox(file: ByteWindow, start: number, to: number): Promise<Box | null> {
  const header = await file.bytes(start, HEADER_BYTES);
  if (header === null) return null;
  const type = header.toString("latin1", 4, 8);
  const length = header.readUInt32BE(0);
  // Length 1: a longer length follows the type. Length 0: to the end, allowed for the last box only.
  const long = length === 1 ? await file.bytes(start + HEADER_BYTES, 8) : null;
  if (length === 1 && long === null) return null;

  const body = start + HEADER_BYTES + (long?.length ?? 0);
  const end = length === 0 ? to : start + Number(long?.readBigUInt64BE(0) ?? length);
  return end < body || !/^[ -~]{4}$/.test(type) ? null : { type, start, body, end };
}
