import { randomBytes } from "node:crypto";
import { promises, readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { DiskFile, ignoreUnsupported } from "./disk-file.ts";
import {
  isPresent,
  removeIfPossible,
  removeIfPresent,
  retryWhileInUse,
  retryWhileInUseSync,
  syncFolder,
} from "./durable.ts";
import { publishOnce } from "./publish.ts";

export function randomDigits(): string {
  return randomBytes(4).toString("hex");
}

const TEMPORARY_NAME = /^\.(.+)\.[0-9a-f]{8}$/;

export function temporaryTarget(name: string): string | undefined {
  return TEMPORARY_NAME.exec(name)?.[1];
}

/** Creates a file atomically and durably. Returns false if it exists. @throws the disk's error; no file remains */
export async function createAtomically(
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

/** Creates a private file, or renews its time, so that it is not removed as old. @throws the disk's error */
export async function createOrRenew(file: string, content: string | Uint8Array): Promise<void> {
  if (await createAtomically(file, content, 0o600)) return;
  await ignoreUnsupported(() => promises.utimes(file, new Date(), new Date()));
  if (!isPresent(file)) await createAtomically(file, content, 0o600);
}

/** As `createAtomically`, but replaces an existing file. */
export async function replaceAtomically(
  file: string,
  content: string | Uint8Array,
  mode: number,
): Promise<void> {
  await withTemporaryFile(file, content, mode, async (temporary) => {
    await retryWhileInUse(() => renameSync(temporary, file));
    return true;
  });
}

/** Replaces a file atomically but not durably. After a power cut, the new file can be missing or empty. */
export function replaceUnsynced(file: string, content: string, mode: number): void {
  const temporary = temporaryName(file);
  try {
    const handle = DiskFile.createExclusive(temporary, mode);
    try {
      handle.write(Buffer.from(content));
    } finally {
      handle.close();
    }
    retryWhileInUseSync(() => renameSync(temporary, file));
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

/** Creates a file and syncs its content, but not its name. @param mode mode before the umask is applied */
export async function writeSynced(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const handle = DiskFile.createExclusive(file, mode);
  try {
    handle.write(Buffer.from(content));
    await handle.sync();
  } finally {
    handle.close();
  }
}

const MIN_LEFTOVER_AGE_MS = 600_000;

/** Removes old temporary files. A process that still needs its temporary file fails before it sends a request. */
export async function removeOldTemporaryFiles(
  folder: string,
  isTemporary: (name: string) => boolean,
  nowMs: number,
): Promise<void> {
  for (const name of readdirSync(folder).filter(isTemporary)) {
    const file = path.join(folder, name);
    const writtenMs = (await promises.stat(file).catch(() => null))?.mtimeMs;
    if (writtenMs !== undefined && nowMs - writtenMs > MIN_LEFTOVER_AGE_MS) removeIfPresent(file);
  }
}
