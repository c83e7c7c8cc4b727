import type { ManifestEntry, ReadOptions } from "../../core/manifest/entry.ts";
import { MANIFEST_HINT, manifestFormat } from "../../core/manifest/format.ts";
import { readManifest } from "../../core/manifest/read.ts";
import { openInput } from "../../lib/disk-file.ts";
import { isFolder } from "../../lib/durable.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Context } from "../session/context.ts";
import { inputChunks } from "./input-stream.ts";

/** The manifest at a path, or `-` for standard input. @throws UsageError if its format is not known */
export function manifestSource(
  name: string,
  options: ReadOptions,
  { stdin, resolvePath, signal }: Context,
): AsyncIterable<ManifestEntry> {
  if (name === "-") {
    const chunks = inputChunks(async () => stdin, "Standard input cannot be read", signal);
    return readManifest(chunks, "detect", options);
  }
  const file = resolvePath(name);
  if (isFolder(file)) throw new UsageError(`${name} is a folder, not a manifest.`, { hint: MANIFEST_HINT });
  const format = manifestFormat(name);
  const complaint = `The manifest ${name} cannot be read`;
  return readManifest(
    inputChunks(() => openInput(file), complaint, signal),
    format,
    options,
  );
}
