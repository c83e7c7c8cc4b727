import { crc32, inflateSync } from "node:zlib";

export interface Decoded {
  readonly width: number;
  readonly height: number;
  readonly types: readonly string[];
  readonly software: string | undefined;
  /** The inflated data: a filter byte before each row. */
  readonly filtered: Buffer;
  /** Three bytes to the pixel. */
  readonly pixels: Buffer;
}

/** Reads what the sandbox writes, and throws on anything a strict reader would refuse. */
export function decodePng(file: Buffer): Decoded {
  if (file.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") throw new Error("no PNG signature");
  const chunks = [...chunksOf(file)];
  const head = chunks[0];
  if (head?.type !== "IHDR") throw new Error("no IHDR first");
  if (head.data.toString("hex", 8) !== "0802000000") throw new Error("not 8-bit RGB");
  const width = head.data.readUInt32BE(0);
  const height = head.data.readUInt32BE(4);
  const filtered = inflateSync(
    Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data)),
  );
  const software = chunks.find(({ type }) => type === "tEXt")?.data.toString("latin1");
  const pixels = unfilter(filtered, width, height);
  return { width, height, types: chunks.map(({ type }) => type), software, filtered, pixels };
}

function* chunksOf(file: Buffer): Generator<{ type: string; data: Buffer }> {
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString("latin1", at + 4, at + 8);
    const end = at + 8 + length;
    if (crc32(file.subarray(at + 4, end)) !== file.readUInt32BE(end))
      throw new Error(`bad checksum of ${type}`);
    yield { type, data: file.subarray(at + 8, end) };
    at = end + 4;
  }
}

function unfilter(filtered: Buffer, width: number, height: number): Buffer {
  const stride = width * 3;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const type = filtered[y * (stride + 1)];
    for (let i = 0; i < stride; i++) {
      const at = y * stride + i;
      const left = i >= 3 ? (pixels[at - 3] ?? 0) : 0;
      const above = y > 0 ? (pixels[at - stride] ?? 0) : 0;
      const guess = type === 1 ? left : type === 2 ? above : 0;
      pixels[at] = (filtered[y * (stride + 1) + 1 + i] ?? 0) + guess;
    }
  }
  return pixels;
}
