import { chmod, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { giveToOwnerOfFolder, ignoreUnsupported } from "../../lib/disk-file.ts";
import { isPresent, syncFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { inspectFile } from "../../lib/image/inspect.ts";
import { type Job, ProviderError } from "../provider.ts";

/** The name of the file that a command is asked to write, in its scratch folder. */
export const OUTPUT = "output.png";

/** Maximum size of a command's image, as of a download. */
const MAX_IMAGE_BYTES = 100 * 1024 * 1024;
/** A program may write a gigabyte in a second. */
const LOOK_EVERY_MS = 200;

/** The working folder of a job's command, in the job's folder. It is gone when the command has ended, or is kept and named. */
export function scratchFolder({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "scratch");
}

export async function makeScratch(scratch: string): Promise<void> {
  await rm(scratch, { recursive: true, force: true, maxRetries: 5 });
  await mkdir(scratch, { mode: 0o700 });
  giveToOwnerOfFolder(scratch);
}

/** Removes a scratch folder, which a killed command may still write to. What cannot be removed does no harm. */
export async function removeScratch(scratch: string): Promise<void> {
  await rm(scratch, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

/** The image of a command that ended well, outside its scratch folder. */
export function imageFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "image");
}

/** Whether a job's image is in its place, to its last byte. */
export function hasImage(job: Pick<Job, "folder">): boolean {
  return isPresent(imageFile(job));
}

/**
 * The file that a command has written: the one that it was asked for, or the only other image that is named `output.*`,
 * as programs write that choose the extension themselves. Null for none.
 */
export async function writtenFile(scratch: string): Promise<string | null> {
  const requestedFile = path.join(scratch, OUTPUT);
  if (await isFilled(requestedFile)) return requestedFile;
  const names = (await readdir(scratch)).filter((name) => name.startsWith("output.") && name !== OUTPUT);
  const images = [];
  for (const file of names.map((name) => path.join(scratch, name)))
    if ((await isFilled(file)) && isWholeImage(file)) images.push(file);
  const [only = null, ...others] = images;
  return others.length === 0 ? only : null;
}

/** Input files of a command in its scratch folder. */
const INPUT_FILE = /^(?:prompt\.txt|reference-\d+\.\w+)$/;

/** The whole images that a paid command has left in its scratch folder, once its own is in its place. */
export async function extraImages(job: Pick<Job, "folder" | "isPaid">): Promise<string[]> {
  if (!job.isPaid) return [];
  const entries = await readdir(scratchFolder(job), { recursive: true, withFileTypes: true }).catch(() => []);
  const outputs = entries.filter((entry) => entry.isFile() && !INPUT_FILE.test(entry.name));
  const files = outputs.map(({ parentPath, name }) => path.join(parentPath, name)).sort();
  return files.filter(isWholeImage);
}

/** Whether a file is a whole image. One that cannot be read must not cost the image that is beside it. */
function isWholeImage(file: string): boolean {
  try {
    return inspectFile(file).ok;
  } catch {
    return false;
  }
}

/** Removes the scratch folder of a command whose image is in its place, unless other images are there that are paid for. */
export async function clearScratch(job: Pick<Job, "folder" | "isPaid">): Promise<void> {
  if ((await extraImages(job)).length === 0) await removeScratch(scratchFolder(job));
}

async function isFilled(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(() => null);
  return stats?.isFile() === true && stats.size > 0;
}

/** Waits until a command has written more than an image may have. @throws the signal's reason */
export async function untilTooLarge(scratch: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const fileBytes = (name: string) =>
    lstat(path.join(scratch, name)).then(
      ({ size }) => size,
      () => 0,
    );
  for (;;) {
    await clock.sleep(LOOK_EVERY_MS, signal);
    const names = (await readdir(scratch).catch(() => [])).filter((name) => name.startsWith("output."));
    const sizes = await Promise.all(names.map(fileBytes));
    if (sizes.some((bytes) => bytes > MAX_IMAGE_BYTES)) return;
  }
}

export function tooLarge(job: Pick<Job, "folder" | "isPaid">): ProviderError {
  const savedPath = job.isPaid ? scratchFolder(job) : null;
  return new ProviderError("The command's image is larger than 100 MiB.", {
    kind: "lost",
    savedPath,
    isStopped: true,
  });
}

/** Gives a command's image its place, once it is on disk to its last byte. @throws ProviderError (lost) */
export async function keepImage(file: string, job: Pick<Job, "folder" | "isPaid">): Promise<void> {
  // Before it is read or copied: a runaway program may have filled the disk.
  if ((await stat(file)).size > MAX_IMAGE_BYTES) throw tooLarge(job);
  try {
    giveToOwnerOfFolder(file);
    await ignoreUnsupported(() => chmod(file, 0o600));
    const opened = await open(file, "r+");
    await opened.sync().finally(() => opened.close());
    await rename(file, imageFile(job));
    await syncFolder(job.folder);
  } catch (cause) {
    const savedPath = job.isPaid ? scratchFolder(job) : null;
    const message = `The command's image cannot be kept: ${errorText(cause)}.`;
    throw new ProviderError(message, { kind: "lost", savedPath, isStopped: true }, { cause });
  }
}
