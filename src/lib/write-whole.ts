import { randomBytes } from "node:crypto";
import { promises, readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { DiskFile } from "./disk-file.ts";
import { removeIfPossible, removeIfPresent, syncFolder, whileInUse, whileInUseSync } from "./durable.ts";
import { publishOnce } from "./publish.ts";

/** Eight random hexadecimal digits, different in every process. */
export function randomDigits(): string {
  return randomBytes(4).toString("hex");
}

/** The name of a draft; the group is the name of its file. */
const DRAFT = /^\.(.+)\.[0-9a-f]{8}$/;

/** The file that a draft of this name is for; undefined if it is not the name of a draft. */
export function draftedFile(name: string): string | undefined {
  return DRAFT.exec(name)?.[1];
}

/**
 * Creates a file, complete or not at all; it survives a power cut once this returns.
 * @param mode of the file, before the umask
 * @returns whether it was created; false if the name is taken
 * @throws the disk's error; then nothing is left
 */
export async function createWhole(
  file: string,
  content: string | Uint8Array,
  mode: number,
): Promise<boolean> {
  return withDraft(file, content, mode, async (draft) => (await publishOnce(draft, file)) !== "exists");
}

/** Writes as `createWhole` does, replacing an existing file. */
export async function replaceWhole(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  await withDraft(file, content, mode, async (draft) => {
    await whileInUse(() => renameSync(draft, file));
    return true;
  });
}

/** As `replaceWhole`, at once and synchronously: a power cut may take the new file, or leave it empty. */
export function replaceUnsynced(file: string, content: string, mode: number): void {
  const draft = draftOf(file);
  try {
    const written = DiskFile.createExclusive(draft, mode);
    try {
      written.write(Buffer.from(content));
    } finally {
      written.close();
    }
    whileInUseSync(() => renameSync(draft, file));
  } catch (error) {
    removeIfPossible(draft);
    throw error;
  }
}

function draftOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${randomDigits()}`);
}

async function withDraft(
  file: string,
  content: string | Uint8Array,
  mode: number,
  publish: (draft: string) => Promise<boolean>,
): Promise<boolean> {
  const draft = draftOf(file);
  try {
    await writeSynced(draft, content, mode);
    if (!(await publish(draft))) return false;
  } finally {
    removeIfPossible(draft);
  }
  await syncFolder(path.dirname(file));
  return true;
}

/** Creates a file that has its bytes once this returns, though a power cut may take its name. @param mode before the umask */
export async function writeSynced(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const written = DiskFile.createExclusive(file, mode);
  try {
    written.write(Buffer.from(content));
    await written.sync();
  } finally {
    written.close();
  }
}

/** A draft is written and published within moments; one of this age was left by a killed process. */
const OLD_MS = 600_000;

/**
 * Removes the old ones of a folder's drafts. If a process still wanted to publish one, that fails, and nothing was sent.
 * @param nowMs milliseconds since the epoch
 */
export async function removeOldDrafts(
  folder: string,
  isDraft: (name: string) => boolean,
  nowMs: number,
): Promise<void> {
  for (const name of readdirSync(folder).filter(isDraft)) {
    const file = path.join(folder, name);
    const writtenMs = (await promises.stat(file).catch(() => null))?.mtimeMs;
    if (writtenMs !== undefined && nowMs - writtenMs > OLD_MS) removeIfPresent(file);
  }
}
