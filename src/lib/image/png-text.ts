import { inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;
const MAX_CHUNKS = 200_000;

export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE);
}

/** Returns the text of a `tEXt`, `zTXt` or `iTXt` chunk; null if the text is missing, unreadable or too long. */
export function pngText(bytes: Buffer, keyword: string, maxBytes: number): string | null {
  const prefix = Buffer.from(`${keyword}\0`, "latin1");
  let at = SIGNATURE.length;
  for (let chunks = 0; chunks < MAX_CHUNKS && at + HEAD_BYTES <= bytes.length; chunks += 1) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + HEAD_BYTES);
    const data = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length);
    if (data.length < length || type === "IEND") return null;
    if (data.subarray(0, prefix.length).equals(prefix)) {
      const text = chunkText(type, data.subarray(prefix.length), maxBytes);
      if (text !== null) return text;
    }
    at += HEAD_BYTES + length + CHECKSUM_BYTES;
  }
  return null;
}

function chunkText(type: string, data: Buffer, maxBytes: number): string | null {
  if (type === "tEXt") return withinLimit(data, maxBytes)?.toString("latin1") ?? null;
  if (type === "zTXt") return inflate(data.subarray(1), maxBytes)?.toString("latin1") ?? null;
  if (type !== "iTXt") return null;
  // The text follows two bytes about its compression, and two zero-terminated strings (language, translated keyword).
  const language = data.indexOf(0, 2);
  const translated = language === -1 ? -1 : data.indexOf(0, language + 1);
  if (translated === -1) return null;
  const text = data.subarray(translated + 1);
  const plain = data[0] === 1 ? inflate(text, maxBytes) : withinLimit(text, maxBytes);
  return plain?.toString("utf8") ?? null;
}

function withinLimit(data: Buffer, maxBytes: number): Buffer | null {
  return data.length > maxBytes ? null : data;
}

function inflate(data: Buffer, maxBytes: number): Buffer | null {
  try {
    return inflateSync(data, { maxOutputLength: maxBytes });
  } catch {
    return null;
  }
}
