import { statSync } from "node:fs";
import type { ManifestEntry, ReadOptions } from "../../core/manifest/entry.ts";
import { MANIFEST_HINT, manifestFormat } from "../../core/manifest/format.ts";
import { readManifest } from "../../core/manifest/read.ts";
import { isFolder } from "../../lib/durable.ts";
import { UsageError } from "../../lib/error-types.ts";
import { openInput } from "../../lib/open-input.ts";
import type { Context } from "../app/context.ts";
import { inputChunks } from "./input-chunks.ts";

/** A manifest that can be read more than once. */
export type ManifestSource = () => AsyncIterable<ManifestEntry>;

/** The manifest at a path, or `-` for standard input. @throws UsageError if its format is not known */
export function manifestSource(
  name: string,
  options: ReadOptions,
  { stdin, resolvePath, signal }: Context,
): ManifestSource {
  if (name === "-") {
    const chunks = inputChunks(async () => stdin, "Standard input cannot be read", signal);
    return kept(readManifest(chunks, "detect", options));
  }
  const file = resolvePath(name);
  if (isFolder(file)) throw new UsageError(`${name} is a folder, not a manifest.`, { hint: MANIFEST_HINT });
  const format = manifestFormat(name);
  const complaint = `The manifest ${name} cannot be read`;
  const read = () =>
    readManifest(
      inputChunks(() => openInput(file), complaint, signal),
      format,
      options,
    );
  return canBeReadAgain(file) ? read : kept(read());
}

/** Whether a file is one that does not change by being read, as a pipe does. */
function canBeReadAgain(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    // The code that opens it reports the error.
    return true;
  }
}

/** Input that comes only once: its rows and problems stay in memory for the next reading, its text does not. */
function kept(entries: AsyncIterable<ManifestEntry>): ManifestSource {
  const read: ManifestEntry[] = [];
  let isRead = false;
  return async function* () {
    yield* read;
    if (isRead) return;
    isRead = true;
    for await (const entry of entries) {
      read.push(entry);
      yield entry;
    }
  };
}
