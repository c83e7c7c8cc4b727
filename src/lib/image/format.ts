import path from "node:path";

export type ImageType = "png" | "jpeg" | "webp" | "gif" | "avif";

/** A size in pixels. */
export interface Size {
  width: number;
  height: number;
}

/**
 * The result of walking the file's structure. `size`: the stored pixels. `orientation`: as in Exif. `needs`: minimum
 * size of the file in bytes. `at`: offset of the first invalid structure.
 */
export type Verdict =
  | { kind: "whole"; size: Size; orientation: number }
  | { kind: "cut short"; needs: number }
  | { kind: "damaged"; at: number };

export interface ImageFormat {
  type: ImageType;
  /** Name in messages. */
  name: string;
  /** Whether a file with this beginning is, or could continue as, this format. */
  begins(head: Buffer): boolean;
  /** Walks the file to its end. Precondition: `begins` is true. */
  examine(file: ByteWindow): Verdict;
}

/** Maximum number of segments or blocks, far above real files; a hostile file could have tens of millions. */
export const MAX_PARTS = 1_000_000;

export function whole(size: Size, orientation = 1): Verdict {
  return { kind: "whole", size, orientation };
}

export function cutShort(needs: number): Verdict {
  return { kind: "cut short", needs };
}

export function damaged(at: number): Verdict {
  return { kind: "damaged", at };
}

/** Whether `head` begins with the signature, or the signature begins with `head`. */
export function sharesStart(head: Buffer, signature: Buffer): boolean {
  const length = Math.min(head.length, signature.length);
  return length > 0 && head.subarray(0, length).equals(signature.subarray(0, length));
}

/** File name extensions without the dot. New files get the first. */
export const EXTENSIONS = {
  png: ["png"],
  jpeg: ["jpg", "jpeg"],
  webp: ["webp"],
  gif: ["gif"],
  avif: ["avif"],
} as const satisfies Record<ImageType, readonly [string, ...string[]]>;

/** The image type of a file name's extension; null for any other. */
export function typeFromName(file: string): ImageType | null {
  const extension = path.extname(file).slice(1).toLowerCase();
  const types: readonly [string, readonly string[]][] = Object.entries(EXTENSIONS);
  return (types.find(([, each]) => each.includes(extension))?.[0] as ImageType | undefined) ?? null;
}

const ALL: readonly string[] = Object.values(EXTENSIONS).flat();

/** All extensions as alternatives of a regular expression. */
export const ANY_EXTENSION = ALL.join("|");

/** The longest extension, with the dot: a name must leave room for it. */
export const MAX_EXTENSION = `.${ALL.reduce((longest, each) => (each.length > longest.length ? each : longest))}`;

/** Random access to bytes, such as an open file. A read returns fewer bytes than requested only at the end. */
export interface ByteSource {
  read(position: number, length: number): Buffer;
  /** Total bytes. */
  readonly size: number;
}

const WINDOW_BYTES = 256 * 1024;

/** A window of 256 KiB over a source of any size: one read per window rather than per header, and constant memory. */
export class ByteWindow {
  readonly size: number;
  readonly #source: ByteSource;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(source: ByteSource) {
    this.size = source.size;
    this.#source = source;
  }

  /** Exactly `length` bytes; null if the file ends before them. */
  bytes(position: number, length: number): Buffer | null {
    return this.from(position, length)?.subarray(0, length) ?? null;
  }

  /** Bytes from `position` to the end of the window, at least `minBytes`; null if the file ends sooner. */
  from(position: number, minBytes: number): Buffer | null {
    const offset = position - this.#start;
    if (offset >= 0 && offset + minBytes <= this.#bytes.length) return this.#bytes.subarray(offset);
    if (position + minBytes > this.size) return null;
    const length = Math.min(Math.max(WINDOW_BYTES, minBytes), this.size - position);
    this.#bytes = this.#source.read(position, length);
    this.#start = position;
    // A file that was truncated during the read ends here.
    return this.#bytes.length < minBytes ? null : this.#bytes;
  }
}
