import path from "node:path";
import { fileSha256 } from "../../lib/file-digest.ts";
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
  const files = await referenceFiles(job, deps);
  const names: string[] = [];
  for (const { file, mediaType } of files) {
    const name = `${await fileSha256(file)}${path.extname(file)}`;
    const fields: [string, string][] = [
      ["subfolder", SUBFOLDER],
      ["overwrite", "true"],
    ];
    const body = formBody(fields, [{ field: "image", file, name, mediaType }]);
    names.push(await server.upload(body, deps.signal));
  }
  return names;
}
