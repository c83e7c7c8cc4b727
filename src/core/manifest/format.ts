import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";

/** `txt`: a prompt a line; `jsonl`: a JSON object a line; `csv`: a header, then records. */
export type ManifestFormat = "txt" | "jsonl" | "csv";

const BY_EXTENSION: ReadonlyMap<string, ManifestFormat> = new Map([
  [".txt", "txt"],
  [".jsonl", "jsonl"],
  [".ndjson", "jsonl"],
  [".csv", "csv"],
]);

export const MANIFEST_EXTENSIONS: readonly string[] = [...BY_EXTENSION.keys()];

/** What files can be manifests. */
export const MANIFEST_HINT =
  "A manifest is .txt (a prompt a line), .jsonl or .ndjson (a JSON object a line), or .csv.";

/**
 * A manifest's format by its extension, in any case. For standard input (`-`) the text decides.
 * @throws UsageError for an unknown extension
 */
export function manifestFormat(file: string): ManifestFormat | "detect" {
  if (file === "-") return "detect";
  const extension = path.extname(file);
  const format = BY_EXTENSION.get(extension.toLowerCase());
  if (format !== undefined) return format;
  const what = extension === "" ? "has no extension" : `ends in ${extension}`;
  throw new UsageError(`The format of ${file} is not recognised: it ${what}.`, { hint: MANIFEST_HINT });
}

/** The format of text without a file name, by its first line that is not blank; never CSV. */
export function formatOfText(firstLine: string): ManifestFormat {
  return firstLine.trimStart().startsWith("{") ? "jsonl" : "txt";
}
