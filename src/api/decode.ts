/**
 * A reply's body without its Content-Encoding. None is requested, but some proxies and services compress anyway. A
 * truncated body is decoded as far as possible; one that cannot be decoded is returned unchanged.
 * @param encoding the Content-Encoding header
 * @param mostBytes the largest result; a body that would be larger is returned unchanged
 */
export async function decoded(
  body: Buffer,
  encoding: string | string[] | undefined,
  mostBytes: number,
): Promise<Buffer> {
  const names = [encoding ?? []].flat().join(",").toLowerCase().split(",");
  const applied = names.map((name) => name.trim()).filter((name) => name !== "" && name !== "identity");
  if (applied.length === 0 || body.length === 0) return body;
  const zlib = await import("node:zlib");
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  const limit = { maxOutputLength: mostBytes };
  const deflate = { ...limit, finishFlush: Z_SYNC_FLUSH };
  const decoders: Record<string, (bytes: Buffer) => Buffer> = {
    gzip: (bytes) => zlib.gunzipSync(bytes, deflate),
    "x-gzip": (bytes) => zlib.gunzipSync(bytes, deflate),
    // `deflate` means zlib's format, but some servers send raw deflate; the first half byte distinguishes them.
    deflate: (bytes) =>
      ((bytes[0] ?? 0) & 0x0f) === 8 ? zlib.inflateSync(bytes, deflate) : zlib.inflateRawSync(bytes, deflate),
    br: (bytes) => zlib.brotliDecompressSync(bytes, { ...limit, finishFlush: BROTLI_OPERATION_FLUSH }),
  };
  try {
    return applied.reduceRight((bytes, name) => {
      const decode = decoders[name];
      if (!decode) throw new Error(`unknown encoding ${name}`);
      return decode(bytes);
    }, body);
  } catch {
    return body;
  }
}
