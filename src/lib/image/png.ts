import { crc32 } from "node:zlib";
import {
  type ByteWindow,
  cutShort,
  damaged,
  type ImageFormat,
  type Size,
  sharesStart,
  type Verdict,
  whole,
} from "./format.ts";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Length and type before a chunk's data, a checksum after it. */
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;
const FRAME_BYTES = HEAD_BYTES + CHECKSUM_BYTES;
const HEADER_CHUNK_BYTES = FRAME_BYTES + 13;
const LEAST_BYTES = SIGNATURE.length + HEADER_CHUNK_BYTES + 2 * FRAME_BYTES;
/** The format's own limit, for the length of a chunk as for a side of the image. */
const LARGEST = 0x7fff_ffff;
/** Far more than a real file has, whose pixel chunks have some kilobytes each. A hostile one could have millions. */
const MOST_CHUNKS = 200_000;
const IDAT = 0x4944_4154;
const IEND = 0x4945_4e44;

export const png: ImageFormat = {
  type: "png",
  name: "PNG",
  begins: (head) => sharesStart(head, SIGNATURE),
  examine,
};

async function examine(file: ByteWindow): Promise<Verdict> {
  const stream = new PngStream();
  for (let at = 0; at < file.size && !stream.hasEnded; ) {
    const bytes = await file.from(at, 1);
    if (bytes === null) break;
    stream.write(bytes);
    at += bytes.length;
  }
  return stream.verdict();
}

/** What comes next in the file. All parts but a chunk's data are collected before they are read. */
type Part = "signature" | "header" | "head" | "data" | "checksum";

/**
 * Checks a PNG as its bytes arrive, in pieces of any size. Complete means: IHDR first, some bytes of IDAT, and every
 * chunk up to IEND within the file and with a correct checksum. Bytes after IEND are ignored.
 */
export class PngStream {
  #verdict: Verdict | null = null;
  #part: Part = "signature";
  /** How many bytes the current part still needs. */
  #missing = SIGNATURE.length;
  /** The collected bytes of the current part. */
  readonly #collected = Buffer.alloc(HEADER_CHUNK_BYTES);
  #collectedBytes = 0;
  #size: Size = { width: 0, height: 0 };
  #chunks = 0;
  #hasPixels = false;
  /** Where the current chunk begins in the file, and what its head says. */
  #at = SIGNATURE.length;
  #length = 0;
  #type = 0;
  #checksum = 0;

  /** Whether the rest of the bytes no longer matters. */
  get hasEnded(): boolean {
    return this.#verdict !== null;
  }

  write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#verdict === null; ) {
      const end = Math.min(at + this.#missing, bytes.length);
      this.#take(bytes, at, end);
      at = end;
    }
  }

  /** The verdict on the bytes so far, if no more arrive. */
  verdict(): Verdict {
    if (this.#verdict) return this.#verdict;
    if (this.#part === "signature" || this.#part === "header") return cutShort(LEAST_BYTES);
    if (this.#part === "head") return cutShort(this.#at + FRAME_BYTES);
    return cutShort(this.#type === IEND ? this.#end : this.#end + FRAME_BYTES);
  }

  get #end(): number {
    return this.#at + FRAME_BYTES + this.#length;
  }

  /** Takes bytes of the current part, at most up to its end. */
  #take(bytes: Buffer, at: number, end: number): void {
    this.#missing -= end - at;
    if (this.#part === "data") {
      this.#checksum = crc32(bytes.subarray(at, end), this.#checksum);
      if (this.#missing === 0) this.#expect("checksum", CHECKSUM_BYTES);
    } else if (this.#missing === 0 && this.#collectedBytes === 0) {
      this.#read(bytes, at);
    } else {
      this.#collectedBytes += bytes.copy(this.#collected, this.#collectedBytes, at, end);
      if (this.#missing > 0) return;
      this.#collectedBytes = 0;
      this.#read(this.#collected, 0);
    }
  }

  /** Reads a complete part. */
  #read(bytes: Buffer, at: number): void {
    if (this.#part === "signature") this.#readSignature(bytes, at);
    else if (this.#part === "header") this.#readHeader(bytes.subarray(at, at + HEADER_CHUNK_BYTES));
    else if (this.#part === "head") this.#readHead(bytes, at);
    else this.#readChecksum(bytes.readUInt32BE(at));
  }

  #readSignature(bytes: Buffer, at: number): void {
    if (bytes.compare(SIGNATURE, 0, SIGNATURE.length, at, at + SIGNATURE.length) !== 0)
      this.#verdict = damaged(0);
    else this.#expect("header", HEADER_CHUNK_BYTES);
  }

  #readHeader(chunk: Buffer): void {
    const size = sizeIn(chunk);
    if (size === null) this.#verdict = damaged(this.#at);
    else this.#size = size;
    this.#at += HEADER_CHUNK_BYTES;
    this.#expect("head", HEAD_BYTES);
  }

  #readHead(bytes: Buffer, at: number): void {
    this.#length = bytes.readUInt32BE(at);
    this.#type = bytes.readUInt32BE(at + 4);
    this.#chunks += 1;
    if (this.#length > LARGEST || !isName(this.#type) || this.#chunks > MOST_CHUNKS) {
      this.#verdict = damaged(this.#at);
      return;
    }
    this.#checksum = crc32(bytes.subarray(at + 4, at + HEAD_BYTES));
    if (this.#length > 0) this.#expect("data", this.#length);
    else this.#expect("checksum", CHECKSUM_BYTES);
  }

  #readChecksum(stated: number): void {
    this.#hasPixels ||= this.#type === IDAT && this.#length > 0;
    if (stated !== this.#checksum) this.#verdict = damaged(this.#at);
    else if (this.#type === IEND) this.#verdict = this.#hasPixels ? whole(this.#size) : damaged(this.#at);
    this.#at = this.#end;
    this.#expect("head", HEAD_BYTES);
  }

  #expect(part: Part, bytes: number): void {
    this.#part = part;
    this.#missing = bytes;
  }
}

/** Whether a chunk's type is made of four letters. */
function isName(type: number): boolean {
  for (let shift = 0; shift < 32; shift += 8) {
    const letter = ((type >>> shift) & 0xff) | 0x20;
    if (letter < 0x61 || letter > 0x7a) return false;
  }
  return true;
}

function sizeIn(chunk: Buffer): Size | null {
  if (chunk.readUInt32BE(0) !== 13 || chunk.toString("latin1", 4, 8) !== "IHDR") return null;
  const width = chunk.readUInt32BE(8);
  const height = chunk.readUInt32BE(12);
  if (width < 1 || width > LARGEST || height < 1 || height > LARGEST) return null;
  return crc32(chunk.subarray(4, 21)) === chunk.readUInt32BE(21) ? { width, height } : null;
}
