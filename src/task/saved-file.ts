import type { WholeNumber } from "../lib/exact-integer.ts";

/** A complete image of a task under its final name. */
export interface SavedFile {
  /** Absolute path, or null if the image was written to standard output. */
  path: string | null;
  /** Result URL, in which the query and the key are masked; null if the provider sent the image itself. */
  url: string | null;
  mediaType: string;
  bytes: number;
  sha256: string;
  width: number;
  height: number;
  /** SHA-256 of the provider's file, if the image was converted to the type of the file name. */
  originalSha256?: string;
  /** Seed of the image. A seed above 2^53 - 1 is a text. */
  seed?: WholeNumber;
}

export function fileDigests({ sha256, originalSha256 }: SavedFile): string[] {
  return originalSha256 === undefined ? [sha256] : [sha256, originalSha256];
}
