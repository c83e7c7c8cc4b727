import type { ByteWindow } from "./byte-window.ts";

export type ImageType = "png" | "jpeg" | "webp" | "gif" | "avif";

/** In pixels. */
export interface Size {
  width: number;
  height: number;
}

/**
 * What a walk over the file's own structure found. `needs`: the file would have to be at least this many bytes
 * long. `at`: where the bytes stop making sense.
 */
export type Verdict =
  | { kind: "whole"; size: Size }
  | { kind: "cut short"; needs: number }
  | { kind: "damaged"; at: number };

export interface ImageFormat {
  type: ImageType;
  /** For people. */
  name: string;
  mediaType: string;
  /** Without the dot. */
  extension: string;
  /** Whether a file that begins with these bytes is of this format, or could be were it longer. */
  begins(head: Buffer): boolean;
  /** Walks the file to its end; asked only of a file that `begins` so. */
  examine(file: ByteWindow): Promise<Verdict>;
}

/** Segments or blocks: far more than a real file has. A hostile one could be made of tens of millions. */
export const MOST_PARTS = 1_000_000;

export function whole(size: Size): Verdict {
  return { kind: "whole", size };
}

export function cutShort(needs: number): Verdict {
  return { kind: "cut short", needs };
}

export function damaged(at: number): Verdict {
  return { kind: "damaged", at };
}

/** Whether `head` begins with the signature, or is a first part of it. */
export function sharesStart(head: Buffer, signature: Buffer): boolean {
  const length = Math.min(head.length, signature.length);
  return length > 0 && head.subarray(0, length).equals(signature.subarray(0, length));
}
