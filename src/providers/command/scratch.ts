import { chmod, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { giveToOwnerOfFolder, ignoreUnsupported } from "../../lib/disk-file.ts";
import { isPresent, syncFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { inspectFile } from "../../lib/image/inspect.ts";
import { type Job, ProviderError } from "../provider.ts";

/** Name of the image that the command must write to the scratch folder. */
export const OUTPUT = "output.png";

/** Downloads have the same maximum. */
const MAX_IMAGE_BYTES = 100 * 1024 * 1024;
/** The interval is short, because a program can write a gigabyte per second. */
const CHECK_INTERVAL_MS = 200;

/** Returns the working folder of a job's command. It is removed after the run unless it might contain paid images. */
export function scratchFolder({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "scratch");
}

export async function makeScratch(scratch: string): Promise<void> {
  await rm(scratch, { recursive: true, force: true, maxRetries: 5 });
  await mkdir(scratch, { mode: 0o700 });
  giveToOwnerOfFolder(scratch);
}

/** Failures are ignored, because a killed command might still write, and remaining files do no harm. */
export async function removeScratch(scratch: string): Promise<void> {
  await rm(scratch, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

/** Returns a path outside the scratch folder, because the scratch folder is removed. */
export function imageFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "image");
}

/** Whether a job has a complete image. An incomplete image is never moved to the path `imageFile`. */
export function hasImage(job: Pick<Job, "folder">): boolean {
  return isPresent(imageFile(job));
}

/** Falls back to the only image named `output.*`, because some programs choose the extension themselves. */
export async function writtenFile(scratch: string): Promise<string | null> {
  const requestedFile = path.join(scratch, OUTPUT);
  if (await isFilled(requestedFile)) return requestedFile;
  const names = (await readdir(scratch)).filter((name) => name.startsWith("output.") && name !== OUTPUT);
  const images = [];
  for (const file of names.map((name) => path.join(scratch, name)))
    if ((await isFilled(file)) && isCompleteImage(file)) images.push(file);
  const [only = null, ...others] = images;
  return others.length === 0 ? only : null;
}

const INPUT_FILE = /^(?:prompt\.txt|reference-\d+\.\w+)$/;

/** Returns the complete images that remain in a paid command's scratch folder after the main image was moved. */
export async function extraImages(job: Pick<Job, "folder" | "isPaid">): Promise<string[]> {
  if (!job.isPaid) return [];
  const entries = await readdir(scratchFolder(job), { recursive: true, withFileTypes: true }).catch(() => []);
  const outputs = entries.filter((entry) => entry.isFile() && !INPUT_FILE.test(entry.name));
  const files = outputs.map(({ parentPath, name }) => path.join(parentPath, name)).sort();
  return files.filter(isCompleteImage);
}

/** Returns false for an unreadable file, because an exception would prevent the use of the other images. */
function isCompleteImage(file: string): boolean {
  try {
    return inspectFile(file).ok;
  } catch {
    return false;
  }
}

/** Keeps the folder if it contains further paid images. */
export async function clearScratch(job: Pick<Job, "folder" | "isPaid">): Promise<void> {
  if ((await extraImages(job)).length === 0) await removeScratch(scratchFolder(job));
}

async function isFilled(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(() => null);
  return stats?.isFile() === true && stats.size > 0;
}

/** Waits until a file named `output.*` exceeds the maximum size of an image. @throws the signal's reason */
export async function untilTooLarge(scratch: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const fileBytes = (name: string) =>
    lstat(path.join(scratch, name)).then(
      ({ size }) => size,
      () => 0,
    );
  for (;;) {
    await clock.sleep(CHECK_INTERVAL_MS, signal);
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

/** Syncs the image before it is moved to the job's folder. @throws ProviderError (lost) */
export async function keepImage(file: string, job: Pick<Job, "folder" | "isPaid">): Promise<void> {
  // The size is checked before anything reads the file, because a faulty program might have filled the disk.
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
    const message = `The command's image cannot be saved: ${errorText(cause)}.`;
    throw new ProviderError(message, { kind: "lost", savedPath, isStopped: true }, { cause });
  }
}
