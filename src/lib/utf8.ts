import { isUtf8 } from "node:buffer";

/** U+FFFD, which a decoder puts in place of what is no UTF-8, as it looks where it was really written. */
const REPLACEMENT = Buffer.from("\ufffd");

/** Where bytes stop being UTF-8, counted from 0; -1 where all of them are. */
export function firstInvalidByte(bytes: Buffer): number {
  if (isUtf8(bytes)) return -1;
  const text = bytes.toString("utf8");
  let offset = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf("\ufffd", from);
    offset += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(offset, offset + REPLACEMENT.length).equals(REPLACEMENT)) return offset;
    offset += REPLACEMENT.length;
    from = at + 1;
  }
}
