import type { ManifestEntry, ReadOptions } from "../../../src/core/manifest/entry.ts";
import type { ManifestFormat } from "../../../src/core/manifest/manifest-format.ts";
import { readManifest } from "../../../src/core/manifest/read-manifest.ts";

/** A text's bytes in chunks of a size, or all in one. */
export async function* inChunks(content: string | Uint8Array, size = Number.POSITIVE_INFINITY) {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function entriesOf(
  content: string | Uint8Array,
  format: ManifestFormat | "detect",
  size?: number,
  options?: ReadOptions,
): Promise<ManifestEntry[]> {
  const entries: ManifestEntry[] = [];
  for await (const entry of readManifest(inChunks(content, size), format, options)) entries.push(entry);
  return entries;
}

/** Each row as `[line, values]`, each problem as `line: message`. */
export async function read(content: string | Uint8Array, format: ManifestFormat | "detect", size?: number) {
  const entries = await entriesOf(content, format, size);
  return entries.map((entry) =>
    "message" in entry ? `${entry.line}: ${entry.message}` : [entry.line, entry.values],
  );
}
