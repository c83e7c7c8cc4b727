import { randomBytes } from "node:crypto";
import { promises, readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { DiskFile, ifSupported } from "./disk-file.ts";
import {
  isPresent,
  removeIfPossible,
  removeIfPresent,
  syncFolder,
  whileInUse,
  whileInUseSync,
} from "./durable.ts";
import { publishOnce } from "./publish.ts";

/** Eight random hexadecimal digits, different in every process. */
export function randomDigits(): string {
  return randomBytes(4).toString("hex");
}

/** The name of a temporary file; the group is its target's name. */
const TEMPORARY_NAME = /^\.(.+)\.[0-9a-f]{8}$/;

/** The target's name of a temporary file; undefined for any other name. */
export function temporaryTarget(name: string): string | undefined {
  return TEMPORARY_NAME.exec(name)?.[1];
}

/**
 * Creates a file, completely or not at all, and durably.
 * @param mode of the file, before the umask
 * @returns false if the name is taken
 * @throws the disk's error; then nothing is left
 */
export async function createWhole(
  file: string,
  content: string | Uint8Array,
  mode: number,
): Promise<boolean> {
  return withTemporaryFile(
    file,
    content,
    mode,
    async (temporary) => (await publishOnce(temporary, file)) !== "exists",
  );
}

/**
 * Creates a private copy that is named by its content. One that is there has the same bytes, and is needed for longer: it
 * becomes as new, and stays when old copies are removed.
 * @throws the disk's error
 */
export async function createCopy(file: string, content: string | Uint8Array): Promise<void> {
  if (await createWhole(file, content, 0o600)) return;
  await ifSupported(() => promises.utimes(file, new Date(), new Date()));
  if (!isPresent(file)) await createWhole(file, content, 0o600);
}

/** Variant of `createWhole` that replaces an existing file. */
export async function replaceWhole(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  await withTemporaryFile(file, content, mode, async (temporary) => {
    await whileInUse(() => renameSync(temporary, file));
    return true;
  });
}

/** Variant of `replaceWhole` that is synchronous and not durable: a power cut may lose or empty the new file. */
export function replaceUnsynced(file: string, content: string, mode: number): void {
  const temporary = temporaryName(file);
  try {
    const handle = DiskFile.createExclusive(temporary, mode);
    try {
      handle.write(Buffer.from(content));
    } finally {
      handle.close();
    }
    whileInUseSync(() => renameSync(temporary, file));
  } catch (error) {
    removeIfPossible(temporary);
    throw error;
  }
}

function temporaryName(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${randomDigits()}`);
}

async function withTemporaryFile(
  file: string,
  content: string | Uint8Array,
  mode: number,
  publish: (temporary: string) => Promise<boolean>,
): Promise<boolean> {
  const temporary = temporaryName(file);
  try {
    await writeSynced(temporary, content, mode);
    if (!(await publish(temporary))) return false;
  } finally {
    removeIfPossible(temporary);
  }
  await syncFolder(path.dirname(file));
  return true;
}

/**
 * Creates a file whose content, but not its name, survives a power cut.
 * @param mode before the umask
 */
export async function writeSynced(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const handle = DiskFile.createExclusive(file, mode);
  try {
    handle.write(Buffer.from(content));
    await handle.sync();
  } finally {
    handle.close();
  }
}

/** Age at which a temporary file counts as left by a killed process. */
const OLD_MS = 600_000;

/**
 * Removes old temporary files. A process that still wants to publish one fails before it sends a request.
 * @param nowMs milliseconds since the epoch
 */
export async function removeOldTemporaryFiles(
  folder: string,
  isTemporary: (name: string) => boolean,
  nowMs: number,
): Promise<void> {
  for (const name of readdirSync(folder).filter(isTemporary)) {
    const file = path.join(folder, name);
    const writtenMs = (await promises.stat(file).catch(() => null))?.mtimeMs;
    if (writtenMs !== undefined && nowMs - writtenMs > OLD_MS) removeIfPresent(file);
  }
}
