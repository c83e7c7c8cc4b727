import { inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;
/** A hostile file could have millions. */
const MAX_CHUNKS = 200_000;

/** Whether a file begins as a PNG does. */
export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE);
}

/**
 * The text that a PNG holds under a keyword: of a `tEXt`, `zTXt` or `iTXt` chunk. Null if there is none, or it cannot be
 * read, or is longer than allowed.
 */
export function pngText(bytes: Buffer, keyword: string, mostBytes: number): string | null {
  const wanted = Buffer.from(`${keyword}\0`, "latin1");
  let at = SIGNATURE.length;
  for (let chunks = 0; chunks < MAX_CHUNKS && at + HEAD_BYTES <= bytes.length; chunks += 1) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + HEAD_BYTES);
    const data = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length);
    if (data.length < length || type === "IEND") return null;
    if (data.subarray(0, wanted.length).equals(wanted)) {
      const text = textIn(type, data.subarray(wanted.length), mostBytes);
      if (text !== null) return text;
    }
    at += HEAD_BYTES + length + CHECKSUM_BYTES;
  }
  return null;
}

/** The text of a chunk, from what follows its keyword. */
function textIn(type: string, data: Buffer, mostBytes: number): string | null {
  if (type === "tEXt") return limited(data, mostBytes)?.toString("latin1") ?? null;
  if (type === "zTXt") return inflated(data.subarray(1), mostBytes)?.toString("latin1") ?? null;
  if (type !== "iTXt") return null;
  // A compression flag and its method, then a language and a translated keyword, each with a zero byte at its end.
  const language = data.indexOf(0, 2);
  const translated = language === -1 ? -1 : data.indexOf(0, language + 1);
  if (translated === -1) return null;
  const text = data.subarray(translated + 1);
  const plain = data[0] === 1 ? inflated(text, mostBytes) : limited(text, mostBytes);
  return plain?.toString("utf8") ?? null;
}

function limited(data: Buffer, mostBytes: number): Buffer | null {
  return data.length > mostBytes ? null : data;
}

function inflated(data: Buffer, mostBytes: number): Buffer | null {
  try {
    return inflateSync(data, { maxOutputLength: mostBytes });
  } catch {
    return null;
  }
}
