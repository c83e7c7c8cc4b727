import type { ByteWindow } from "./byte-window.ts";

export type ImageType = "png" | "jpeg" | "webp" | "gif" | "avif";

/** In pixels. */
export interface Size {
  width: number;
  height: number;
}

/**
 * The result of walking the file's structure. `needs`: the file must have at least this many bytes. `at`: where its
 * structure becomes invalid.
 */
export type Verdict =
  | { kind: "whole"; size: Size }
  | { kind: "cut short"; needs: number }
  | { kind: "damaged"; at: number };

export interface ImageFormat {
  type: ImageType;
  /** For messages. */
  name: string;
  mediaType: string;
  /** Without the dot. */
  extension: string;
  /** Whether a file that begins with these bytes is of this format, or could be if it were longer. */
  begins(head: Buffer): boolean;
  /** Walks the file to its end; called only if `begins` is true. */
  examine(file: ByteWindow): Promise<Verdict>;
}

/** Segments or blocks: far more than a real file has. A hostile one could have tens of millions. */
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

/** Whether `head` begins with the signature, or the signature begins with `head`. */
export function sharesStart(head: Buffer, signature: Buffer): boolean {
  const length = Math.min(head.length, signature.length);
  return length > 0 && head.subarray(0, length).equals(signature.subarray(0, length));
}
