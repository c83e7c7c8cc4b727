import { createHash } from "node:crypto";
import { DiskFile } from "../../lib/disk-file.ts";
import { removeIfPresent } from "../../lib/durable.ts";
import { typeNamed } from "../../lib/image/format.ts";
import { inspectImage } from "../../lib/image/inspect.ts";
import { readRegular } from "../../lib/read-file.ts";
import type { TaskDeps } from "../deps.ts";
import type { DownloadedImage } from "./download-image.ts";

/** An image as it is to be published, and what is said of it after its name. */
interface Named {
  image: DownloadedImage;
  warnings: string[];
}

/**
 * An image in the type that its file's name says: converted if that can be done here. Else the bytes stay as they are,
 * and so does the name, which the user chose. @throws the disk's error
 */
export async function asNamed(
  fetched: DownloadedImage,
  wanted: string,
  deps: Pick<TaskDeps, "fileMode">,
): Promise<Named> {
  const type = typeNamed(wanted);
  const own = fetched.image.extension.toUpperCase();
  if (type === fetched.image.type) return { image: fetched, warnings: [] };
  const { convertedImage, isWritable, UndecodableError } = await import("../../graphics/decoder.ts");
  if (type === null || !isWritable(type)) return { image: fetched, warnings: [`holds a ${own} image`] };
  try {
    const bytes = await convertedImage(readRegular(fetched.temporary), type);
    const image = await replaced(fetched, bytes, deps.fileMode);
    return { image, warnings: [`was converted from the ${own} image that the service sent`] };
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    return { image: fetched, warnings: [`holds a ${own} image, which was not converted: ${error.message}`] };
  }
}

/** Puts these bytes in the place of those that were downloaded, synced. */
async function replaced(fetched: DownloadedImage, bytes: Buffer, mode: number): Promise<DownloadedImage> {
  const { temporary, sha256: originalSha256 } = fetched;
  const read = async (position: number, length: number) => bytes.subarray(position, position + length);
  const inspection = await inspectImage({ size: bytes.length, read });
  if (!inspection.ok) throw new TypeError(`the image library wrote no whole image: ${inspection.detail}`);
  removeIfPresent(temporary);
  const file = await DiskFile.createInBackground(temporary, 0o600);
  try {
    await file.writeChunks([bytes]);
    await file.setMode(mode);
    await file.sync();
  } finally {
    file.close();
  }
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ...fetched, image: inspection.image, bytes: bytes.length, sha256, originalSha256 };
}
