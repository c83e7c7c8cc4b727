import { readFile } from "node:fs/promises";
import type { Reference } from "../generator.ts";

/** Every reference image as a URL; those on this disk as `data:` URLs. */
export function referenceUrls(references: readonly Reference[]): Promise<string[]> {
  return Promise.all(
    references.map(async (reference) => {
      if ("url" in reference) return reference.url;
      const base64 = await readFile(reference.file, "base64");
      return `data:${reference.mediaType};base64,${base64}`;
    }),
  );
}
