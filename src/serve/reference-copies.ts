import { utimesSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { removeOldFiles } from "../lib/durable.ts";
import { sha256Of } from "../lib/file-digest.ts";
import { inspectBytes } from "../lib/image/inspect.ts";
import { createWhole } from "../lib/write-whole.ts";
import { REFERENCE_TYPES } from "../task/request.ts";
import { KEPT_MS } from "./collected-images.ts";

/**
 * Keeps a reference image that came with a request, under the digest of its bytes.
 * @returns its `file:` URL; null for what is no whole JPEG, PNG or WebP
 * @throws the disk's error
 */
export async function keepReference(bytes: Buffer, folder: string): Promise<string | null> {
  const inspection = inspectBytes(bytes);
  if (!inspection.ok || !REFERENCE_TYPES.includes(inspection.image.type)) return null;
  const file = path.join(folder, `${sha256Of(bytes)}.${inspection.image.extension}`);
  // One that is there already has the same bytes, and is needed for longer.
  if (!(await createWhole(file, bytes, 0o600))) utimesSync(file, new Date(), new Date());
  return pathToFileURL(file).href;
}

/** Removes old copies that no open task needs. @param needed names of files @throws the disk's error */
export function removeOldReferences(folder: string, needed: ReadonlySet<string>, nowMs: number): void {
  removeOldFiles(folder, nowMs - KEPT_MS, needed);
}
