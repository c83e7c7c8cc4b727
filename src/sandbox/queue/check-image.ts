import path from "node:path";
import { DiskFile } from "../../lib/disk-file.ts";
import { syncFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { type ImageInfo, inspectImage } from "../../lib/image/inspect.ts";
import type { GeneratedImage } from "../../providers/generator.ts";
import type { StoredImage } from "./task-state.ts";

const MEBI = 1024 * 1024;
const MOST_BYTES = 64 * MEBI;
const MOST_PIXELS = 64 * MEBI;

/** What a generator made is no image that can be handed on. The message is a phrase: "an HTML page". */
export class BadImageError extends Error {
  override readonly name = "BadImageError";
}

/**
 * Checks an image in a task's folder to its last byte, and waits until the disk has it.
 * @throws BadImageError, or the disk's error
 */
export async function checkImage(folder: string, { file, usage }: GeneratedImage): Promise<StoredImage> {
  const opened = DiskFile.openToRead(file);
  try {
    requireRegular(opened);
    const bytes = opened.size;
    if (bytes > MOST_BYTES) throw new BadImageError("it is larger than 64 MiB");
    const inspection = inspectImage(opened);
    if (!inspection.ok) throw new BadImageError(inspection.detail);
    requireSize(inspection.image);
    await opened.sync();
    await syncFolder(path.dirname(file));
    const below = path.relative(folder, file).split(path.sep).join("/");
    return { file: below, ...inspection.image, bytes, usage };
  } finally {
    opened.close();
  }
}

/** @throws BadImageError */
function requireRegular(file: DiskFile): void {
  try {
    file.requireRegular();
  } catch (error) {
    throw new BadImageError(errorText(error));
  }
}

/** A small file may be a picture that fills the memory of whoever decodes it. @throws BadImageError */
function requireSize({ width, height }: ImageInfo): void {
  if (width * height > MOST_PIXELS) throw new BadImageError(`${width}x${height} is more than 64 megapixels`);
}
