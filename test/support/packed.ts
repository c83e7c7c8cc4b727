import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

const PACK = path.resolve(import.meta.dirname, "../../.build/package.js");

/** Packs what is built, as it is published, into this folder. Resolves with the tarball's path. */
export async function packedInto(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PACK, folder]);
  return stdout.trim();
}
