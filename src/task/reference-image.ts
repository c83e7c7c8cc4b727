import type { ImageType } from "../lib/image/format.ts";

// What the service takes as a reference image: section 2.2 of its document.

export const REFERENCE_TYPES: readonly ImageType[] = ["jpeg", "png", "webp"];

/** The document says "4 MB"; of its two readings, the one that refuses least. */
export const MOST_REFERENCE_BYTES = 4 * 1024 * 1024;
