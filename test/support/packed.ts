import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const PACK = path.resolve(import.meta.dirname, "../../.build/package.js");

/** The bytes of the tarball: all test files of a worker share them. */
let packed: Promise<Buffer> | undefined;

async function pack(): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), "imggen-packed-"));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [PACK, folder]);
    return await readFile(stdout.trim());
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Puts what is built into this folder, packed as it is published. Resolves with the tarball's path. */
export async function packedInto(folder: string): Promise<string> {
  packed ??= pack();
  const tarball = path.join(folder, "imggen.tgz");
  await writeFile(tarball, await packed);
  return tarball;
}
