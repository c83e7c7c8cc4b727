import type { WholeNumber } from "../lib/exact-integer.ts";

/** A complete image of a task under its final name. */
export interface SavedFile {
  /** Absolute; null: written to standard output. */
  path: string | null;
  /**
   * The complete result URL with its query, with the provider's key masked; null if the provider sent the image
   * itself.
   */
  url: string | null;
  mediaType: string;
  bytes: number;
  sha256: string;
  width: number;
  height: number;
  /** Digest of the service's file, if it was converted to the type of the file name. */
  originalSha256?: string;
  /** The seed of the image, if the request has one; above 2^53 - 1 as text. */
  seed?: WholeNumber;
}

export function fileDigests({ sha256, originalSha256 }: SavedFile): string[] {
  return originalSha256 === undefined ? [sha256] : [sha256, originalSha256];
}
