import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";
import { isPipeOrDevice } from "../../lib/read-file.ts";

/** `txt`: one prompt per line. `jsonl`: one JSON object per line. `csv`: a header, followed by records. */
export type ManifestFormat = "txt" | "jsonl" | "csv";

const BY_EXTENSION: ReadonlyMap<string, ManifestFormat> = new Map([
  [".txt", "txt"],
  [".jsonl", "jsonl"],
  [".ndjson", "jsonl"],
  [".csv", "csv"],
]);

export const MANIFEST_EXTENSIONS: readonly string[] = [...BY_EXTENSION.keys()];

export const MANIFEST_HINT =
  "A manifest is .txt (a prompt a line), .jsonl or .ndjson (a JSON object a line), or .csv.";

/** A shell replaces `<(…)` with a name such as `/dev/fd/63`. */
const STREAM = /^\/(?:dev\/(?:fd\/\d+|stdin)|proc\/(?:self|\d+)\/fd\/\d+)$/;

/** Whether a manifest is standard input (`-`), a process substitution, a pipe or a device. */
export function isStream(name: string, file = name): boolean {
  return name === "-" || STREAM.test(file) || (path.extname(file) === "" && isPipeOrDevice(file));
}

/** Returns the format by its extension; `detect` for a stream. @throws UsageError for an unknown extension */
export function manifestFormat(name: string, file = name): ManifestFormat | "detect" {
  if (isStream(name, file)) return "detect";
  const extension = path.extname(name);
  const format = BY_EXTENSION.get(extension.toLowerCase());
  if (format !== undefined) return format;
  const what = extension === "" ? "has no extension" : `ends in ${extension}`;
  throw new UsageError(`The format of ${name} is not recognised: it ${what}.`, { hint: MANIFEST_HINT });
}

/** The first line that is not blank decides. CSV is never detected. */
export function formatOfText(firstLine: string): ManifestFormat {
  return firstLine.trimStart().startsWith("{") ? "jsonl" : "txt";
}
