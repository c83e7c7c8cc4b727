import path from "node:path";

export type ImageType = "png" | "jpeg" | "webp" | "gif" | "avif";

export interface Size {
  width: number;
  height: number;
}

/** `size` is in pixels before rotation, `orientation` from 1 to 8 as in Exif, `at` the offset of the invalid part. */
export type Verdict =
  | { kind: "whole"; size: Size; orientation: number }
  | { kind: "cut short"; minBytes: number }
  | { kind: "damaged"; at: number };

export interface ImageFormat {
  type: ImageType;
  name: string;
  /** Whether a file that begins with these bytes could have this format. */
  begins(head: Buffer): boolean;
  examine(file: ByteWindow): Verdict;
}

/** Maximum number of segments or blocks, because a hostile file could have tens of millions. */
export const MAX_PARTS = 1_000_000;

export function completeVerdict(size: Size, orientation = 1): Verdict {
  return { kind: "whole", size, orientation };
}

export function truncatedVerdict(minBytes: number): Verdict {
  return { kind: "cut short", minBytes };
}

export function damagedVerdict(at: number): Verdict {
  return { kind: "damaged", at };
}

export function sharesStart(head: Buffer, signature: Buffer): boolean {
  const length = Math.min(head.length, signature.length);
  return length > 0 && head.subarray(0, length).equals(signature.subarray(0, length));
}

/** File name extensions without the dot. A new file gets the first extension of its type. */
export const EXTENSIONS = {
  png: ["png"],
  jpeg: ["jpg", "jpeg"],
  webp: ["webp"],
  gif: ["gif"],
  avif: ["avif"],
} as const satisfies Record<ImageType, readonly [string, ...string[]]>;

export function typeFromName(file: string): ImageType | null {
  const extension = path.extname(file).slice(1).toLowerCase();
  const types: readonly [string, readonly string[]][] = Object.entries(EXTENSIONS);
  return (
    (types.find(([, extensions]) => extensions.includes(extension))?.[0] as ImageType | undefined) ?? null
  );
}

const ALL_EXTENSIONS: readonly string[] = Object.values(EXTENSIONS).flat();

export const ANY_EXTENSION = ALL_EXTENSIONS.join("|");

/** Longest extension with the dot, for the maximum length of a file name. */
export const MAX_EXTENSION = `.${ALL_EXTENSIONS.reduce((longest, each) => (each.length > longest.length ? each : longest))}`;

/** Random access to bytes. A read returns fewer bytes than requested only at the end of the source. */
export interface ByteSource {
  read(position: number, length: number): Buffer;
  readonly size: number;
}

const WINDOW_BYTES = 256 * 1024;

/** A window of 256 KiB over a source of any size, so that a large file needs little memory and few reads. */
export class ByteWindow {
  readonly size: number;
  readonly #source: ByteSource;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(source: ByteSource) {
    this.size = source.size;
    this.#source = source;
  }

  /** Returns exactly `length` bytes, or null if the file is too short. */
  bytes(position: number, length: number): Buffer | null {
    return this.from(position, length)?.subarray(0, length) ?? null;
  }

  /** Returns the bytes of the window from `position` on, at least `minBytes`; null if the file is too short. */
  from(position: number, minBytes: number): Buffer | null {
    const offset = position - this.#start;
    if (offset >= 0 && offset + minBytes <= this.#bytes.length) return this.#bytes.subarray(offset);
    if (position + minBytes > this.size) return null;
    const length = Math.min(Math.max(WINDOW_BYTES, minBytes), this.size - position);
    this.#bytes = this.#source.read(position, length);
    this.#start = position;
    // The read is too short if the file was truncated meanwhile.
    return this.#bytes.length < minBytes ? null : this.#bytes;
  }
}
