import type { WholeNumber } from "../lib/exact-integer.ts";

/** Maximum number of saved images per request. No model returns more than 15. */
export const MAX_SAVED_IMAGES = 16;

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

/**
 * Returns the index of an image in a task's files: the first images of all requests, then their second images, and so
 * on. The index does not depend on how many images other requests have.
 * @param imageIndex index of the image in its request's reply, from 0
 */
export function fileIndex(imageIndex: number, request: number, requestCount: number): number {
  return imageIndex * requestCount + request;
}

/** Returns the entries of one request, by image: the inverse of `fileIndex`. */
export function entriesOfRequest<Entry>(
  entries: readonly Entry[],
  request: number,
  requestCount: number,
): Entry[] {
  return entries.filter((_, at) => at % requestCount === request);
}

export function fileDigests({ sha256, originalSha256 }: SavedFile): string[] {
  return originalSha256 === undefined ? [sha256] : [sha256, originalSha256];
}
