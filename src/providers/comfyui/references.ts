import { readFile } from "node:fs/promises";
import path from "node:path";
import { sha256Of } from "../../lib/file-digest.ts";
import { formBody } from "../post-body.ts";
import type { Job } from "../provider.ts";
import { type ReferenceDeps, referenceFiles } from "../reference-files.ts";
import type { ComfyServer } from "./comfy-server.ts";

/** Where uploaded images are, below the server's folder for input. */
const SUBFOLDER = "imggen";

/**
 * Uploads a job's reference images, each under a name made of its digest, so that one that is there already is replaced
 * by the same bytes. @returns how a node names each
 * @throws ProviderError
 */
export async function uploadReferences(
  job: Job,
  server: ComfyServer,
  deps: ReferenceDeps,
): Promise<string[]> {
  if (job.references.length === 0) return [];
  const files = await referenceFiles(job, path.join(job.folder, "reference"), deps);
  const names: string[] = [];
  for (const { file, mediaType } of files) {
    const bytes = await readFile(file);
    const name = `${sha256Of(bytes)}${path.extname(file)}`;
    const data = new FormData();
    data.append("image", new Blob([bytes], { type: mediaType }), name);
    data.append("subfolder", SUBFOLDER);
    data.append("overwrite", "true");
    names.push(await server.upload(await formBody(data), deps.signal));
  }
  return names;
}
