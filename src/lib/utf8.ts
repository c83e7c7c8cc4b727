import { isUtf8 } from "node:buffer";

/** U+FFFD as UTF-8. A decoder puts this character in place of invalid bytes, but it may also be in the text itself. */
const REPLACEMENT = Buffer.from("\ufffd");

/** The offset of the first byte that is not valid UTF-8; -1 if all are valid. */
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
