import { promises } from "node:fs";
import path from "node:path";
import { loadSharp, thumbnail, UndecodableError } from "../graphics/decoder.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fileSha256 } from "../lib/file-digest.ts";
import { inspectFileAt } from "../lib/image/inspect.ts";
import { type KnownImage, KnownImages } from "./known-images.ts";
import type { FoundImage } from "./scan.ts";

/** Sharp enough for a card on a display of double density. */
const EDGE = 384;
/** Each takes a processor, and some tens of megabytes. */
const AT_ONCE = 2;
/** Between two of these, what was found out so far is written down. */
const SAVE_EVERY_MS = 5000;

/** An image with its thumbnail. */
export interface ThumbnailedImage extends KnownImage {
  found: FoundImage;
  /** The file of the thumbnail, or its bytes; null if none can be made without the optional decoder. */
  thumbnail: string | Buffer | null;
}

/** An image that cannot be shown, and why. */
export interface UnreadableImage {
  name: string;
  why: string;
}

export interface ThumbnailOptions {
  folder: string;
  /** Returns the bytes instead of writing files. */
  inline: boolean;
  signal: AbortSignal;
  onProgress: (done: number, of: number) => void;
}

export interface ThumbnailResult {
  images: ThumbnailedImage[];
  unreadable: UnreadableImage[];
  made: number;
  /** False if the decoder is not installed. */
  hasDecoder: boolean;
}

/**
 * Finds out what images there are, and makes what thumbnails are missing. Whatever was done when it is interrupted need
 * not be done again. @throws the system's error if a thumbnail cannot be written; or the signal's reason
 */
export async function makeThumbnails(
  found: readonly FoundImage[],
  options: ThumbnailOptions,
): Promise<ThumbnailResult> {
  const { folder, inline, signal, onProgress } = options;
  const work: Work = {
    ...options,
    known: await KnownImages.read(folder),
    files: new Set(await promises.readdir(folder).catch(() => [])),
    hasDecoder: await isDecoderThere(),
  };
  const names = found.map(({ name }) => name);
  const keep = async () => (inline ? undefined : work.known.write(names));
  const result: ThumbnailResult = { images: [], unreadable: [], made: 0, hasDecoder: work.hasDecoder };
  if (!inline) await makeFolder(folder, 0o777);
  let [done, savedMs] = [0, performance.now()];
  const take = async (image: FoundImage): Promise<ThumbnailedImage | null> => {
    signal.throwIfAborted();
    const read = await readImage(image, work);
    if ("why" in read) result.unreadable.push(read);
    else if (read.isNew) result.made += 1;
    onProgress(++done, found.length);
    if (performance.now() - savedMs > SAVE_EVERY_MS) {
      savedMs = performance.now();
      await keep();
    }
    return "why" in read ? null : placed(read, image, work);
  };
  try {
    const taken = await mapConcurrent(found, AT_ONCE, take);
    result.unreadable.sort((a, b) => (a.name < b.name ? -1 : 1));
    result.images = taken.filter((image) => image !== null);
    if (!inline) await removeOthers(work, result.images);
  } finally {
    await keep();
  }
  return result;
}

interface Work extends ThumbnailOptions {
  known: KnownImages;
  /** Names in the folder of the thumbnails. */
  files: Set<string>;
  hasDecoder: boolean;
}

interface ReadImage {
  facts: KnownImage;
  /** The thumbnail; null if it is in its folder, or cannot be made. */
  bytes: Buffer | null;
  isNew: boolean;
}

/** What is in an image: all there is to know of it, and its thumbnail unless that is there. */
async function readImage(image: FoundImage, work: Work): Promise<ReadImage | UnreadableImage> {
  const { known, files, folder, inline, hasDecoder } = work;
  try {
    const facts = known.get(image) ?? (await examine(image));
    known.set(image.name, facts);
    const name = thumbnailName(facts);
    const isNew = hasDecoder && !files.has(name);
    if (isNew) return { facts, bytes: await thumbnail(image.path, EDGE), isNew };
    const kept = inline && files.has(name) ? await promises.readFile(path.join(folder, name)) : null;
    return { facts, bytes: kept, isNew };
  } catch (error) {
    const why = error instanceof UndecodableError ? error.message : errorText(error);
    return { name: image.name, why };
  }
}

async function placed({ facts, bytes }: ReadImage, found: FoundImage, work: Work): Promise<ThumbnailedImage> {
  const { folder, inline, files } = work;
  const name = thumbnailName(facts);
  if (inline) return { ...facts, found, thumbnail: bytes };
  const file = path.join(folder, name);
  if (bytes !== null) {
    await promises.writeFile(file, bytes);
    files.add(name);
  }
  return { ...facts, found, thumbnail: files.has(name) ? file : null };
}

async function isDecoderThere(): Promise<boolean> {
  try {
    const sharp = await loadSharp();
    // Thousands of images are each read once, so nothing is worth keeping; and several at once need no threads each.
    sharp.cache(false);
    sharp.concurrency(1);
    return true;
  } catch {
    return false;
  }
}

/** Known by the image's bytes, so that an image that was renamed keeps its thumbnail. */
function thumbnailName({ sha256 }: Pick<KnownImage, "sha256">): string {
  return `${sha256.slice(0, 24)}.webp`;
}

async function examine({ path: file, bytes, modifiedMs }: FoundImage): Promise<KnownImage> {
  const inspection = await inspectFileAt(file);
  if (!inspection.ok) throw new UndecodableError(inspection.detail);
  const { width, height } = inspection.image;
  return { bytes, modifiedMs, sha256: await fileSha256(file), width, height };
}

/** Removes thumbnails of images that are gone. */
async function removeOthers({ folder, files }: Work, images: readonly KnownImage[]): Promise<void> {
  const used = new Set(images.map(thumbnailName));
  const isUnused = (name: string) => /^[0-9a-f]{24}\.webp$/.test(name) && !used.has(name);
  for (const name of [...files].filter(isUnused))
    await promises.unlink(path.join(folder, name)).catch(() => {});
}
