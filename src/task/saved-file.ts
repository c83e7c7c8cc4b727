import type { WholeNumber } from "../lib/exact-integer.ts";

/** An image of a task, whole under its final name. */
export interface SavedFile {
  /** Absolute; null for bytes that went to standard output. */
  path: string | null;
  /** The whole result URL, its query included, with the provider's key masked; null where there was none: a provider has sent the image itself. */
  url: string | null;
  mediaType: string;
  bytes: number;
  sha256: string;
  width: number;
  height: number;
  /** Digest of the bytes as the service sent them, where they were converted to the type that the file's name says. */
  originalSha256?: string;
  /** Its seed, if the request names one: beyond 2^53 - 1 all digits, as text. */
  seed?: WholeNumber;
}

/** The digests that a saved file is known by. */
export function digestsOf({ sha256, originalSha256 }: SavedFile): string[] {
  return originalSha256 === undefined ? [sha256] : [sha256, originalSha256];
}
