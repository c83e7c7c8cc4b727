import { promisify } from "node:util";

export interface DecodeLimits {
  /** Maximum size of the result, in bytes. */
  maxBytes: number;
  /** Whether to decode an incomplete body as far as possible instead of failing. Default: false. */
  mayBeCut?: boolean;
}

const ENCODINGS: ReadonlySet<string> = new Set(["gzip", "x-gzip", "deflate", "br"]);
/** First byte of gzip data. Images and JSON begin with other bytes. */
const GZIP_BYTE = 0x1f;

/** Whether `decodeBody` supports this Content-Encoding. False for an unknown encoding. */
export function isEncoded(header: string | string[] | undefined): boolean {
  return encodingsIn(header).length > 0;
}

/**
 * Decodes a reply's body, because some proxies and services compress replies that were requested without compression.
 * @param header Content-Encoding
 * @throws the decoder's error, with the code ERR_BUFFER_TOO_LARGE for a result of more than `maxBytes`
 */
export async function decodeBody(
  body: Buffer,
  header: string | string[] | undefined,
  limits: DecodeLimits,
): Promise<Buffer> {
  let bytes = body;
  for (const name of encodingsIn(header).reverse())
    if (bytes.length > 0) bytes = await decodeOnce(bytes, name, limits);
  return bytes;
}

/** Encodings in the order in which they were applied; empty if any encoding is unknown. */
function encodingsIn(header: string | string[] | undefined): string[] {
  const names = String(header ?? "").split(",");
  const applied = names
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !/^(identity)?$/.test(name));
  return applied.every((name) => ENCODINGS.has(name)) ? applied : [];
}

async function decodeOnce(
  bytes: Buffer,
  name: string,
  { maxBytes: maxOutputLength, mayBeCut = false }: DecodeLimits,
): Promise<Buffer> {
  const zlib = await import("node:zlib");
  const { Z_FINISH, Z_SYNC_FLUSH, BROTLI_OPERATION_FINISH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  const [first = 0] = bytes;
  if (name === "br") {
    const finishFlush = mayBeCut ? BROTLI_OPERATION_FLUSH : BROTLI_OPERATION_FINISH;
    return promisify(zlib.brotliDecompress)(bytes, { maxOutputLength, finishFlush });
  }
  const options = { maxOutputLength, finishFlush: mayBeCut ? Z_SYNC_FLUSH : Z_FINISH };
  // `deflate` means the zlib format, whose first byte has 8 in its low four bits, but some servers send raw deflate.
  if (name === "deflate")
    return promisify((first & 0x0f) === 8 ? zlib.inflate : zlib.inflateRaw)(bytes, options);
  // Data that is not gzip is not decoded, because some servers send a wrong Content-Encoding with stored files.
  return first === GZIP_BYTE ? promisify(zlib.gunzip)(bytes, options) : bytes;
}
