import { createReadStream, promises } from "node:fs";
import { giveToOwnerOfFolder } from "../../lib/disk-file.ts";
import { removeIfPossible } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { hasContent } from "../../lib/file-digest.ts";
import { typeFromName } from "../../lib/image/format.ts";
import { inspectFile } from "../../lib/image/inspect.ts";
import { readRegular } from "../../lib/read-file.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { SaveFailedError } from "../errors.ts";
import { type DownloadedImage, diskFailure } from "./download-image.ts";

/**
 * Whether a saved file is unchanged, byte for byte. An image written to standard output counts as unchanged.
 * @throws SaveFailedError if a disk error prevents the check, because an unchanged image must not be saved twice
 */
export async function isWhole({ path: file, ...facts }: SavedFile): Promise<boolean> {
  if (file === null) return true;
  return hasContent(file, facts).catch((cause: unknown) => {
    const message = `The saved image ${file} cannot be read now: ${errorText(cause)}.`;
    throw new SaveFailedError(message, { charged: "yes", cause });
  });
}

/** Whether a file is a copy of a saved image, unchanged or converted to the type of the file's name. */
export async function isCopyOf(file: string, savedImage: SavedFile): Promise<boolean> {
  const { path: source, mediaType } = savedImage;
  const type = typeFromName(file);
  if (source !== null && type !== null && mediaType !== `image/${type}` && (await isWhole(savedImage))) {
    const { convertImage, isWritable, UndecodableError } = await import("../../graphics/decoder.ts");
    try {
      if (isWritable(type))
        return readRegular(file).equals((await convertImage(readRegular(source), type)).bytes);
    } catch (error) {
      // If an image could not be converted, its copy has the original bytes.
      if (!(error instanceof UndecodableError)) return false;
    }
  }
  return hasContent(file, savedImage).catch(() => false);
}

/**
 * Copies a saved image to `temporary`, a name that no other process uses, and checks the digest of the copy.
 * @returns null if the saved file is missing or changed
 * @throws SaveFailedError for a disk error
 */
export async function copyImage(
  savedImage: SavedFile,
  temporary: string,
  fileMode: number,
): Promise<DownloadedImage | null> {
  const { path: source, url, bytes, sha256 } = savedImage;
  if (source === null || !(await isWhole(savedImage))) return null;
  let isCopied = false;
  try {
    // copyFile is not used, because it would also copy the mode of the source, which fails on some disks.
    const options = { flag: "wx", mode: fileMode, flush: true };
    await promises.writeFile(temporary, createReadStream(source), options);
    const inspection = inspectFile(temporary);
    const image = inspection.ok ? inspection.image : inspection.file;
    if (image === undefined || !(await hasContent(temporary, savedImage))) return null;
    giveToOwnerOfFolder(temporary);
    isCopied = true;
    return { temporary, url, image, bytes, sha256 };
  } catch (error) {
    throw diskFailure(temporary, error);
  } finally {
    if (!isCopied) removeIfPossible(temporary);
  }
}
