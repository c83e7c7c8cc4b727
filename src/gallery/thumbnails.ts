import { promises } from "node:fs";
import path from "node:path";
import { isContactSheet } from "../graphics/contact-sheet.ts";
import { loadSharp, thumbnail, UndecodableError } from "../graphics/decoder.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fileSha256 } from "../lib/file-digest.ts";
import { inspectFileAt } from "../lib/image/inspect.ts";
import { readHead } from "../lib/read-file.ts";
import { replaceWhole } from "../lib/write-whole.ts";
import { type FoundImage, type KnownImage, KnownImages } from "./known-images.ts";

/** Sharp enough for a card on a display of double density. */
const EDGE = 384;
/** Each takes a processor, and some tens of megabytes. */
const AT_ONCE = 2;
/** The interval at which the index is written. */
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
  /** Whether the thumbnails are put into the page, and not into files beside it. */
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
  folder: string,
  { inline, signal, onProgress }: ThumbnailOptions,
): Promise<ThumbnailResult> {
  const work: Work = {
    folder,
    inline,
    knownImages: await KnownImages.read(folder),
    files: await regularFiles(folder),
    hasDecoder: await isDecoderThere(),
  };
  const names = found.map(({ name }) => name);
  const keep = async () => (inline ? undefined : work.knownImages.write(names));
  const result: ThumbnailResult = { images: [], unreadable: [], made: 0, hasDecoder: work.hasDecoder };
  if (!inline) {
    await makeFolder(folder, 0o777);
    // It marks the folder as imggen's, should this be interrupted.
    await keep();
  }
  let [done, savedMs] = [0, performance.now()];
  const take = async (image: FoundImage): Promise<ThumbnailedImage | null> => {
    signal.throwIfAborted();
    const read = await readImage(image, work);
    onProgress(++done, found.length);
    if (read === null) return null;
    if ("why" in read) result.unreadable.push(read);
    else if (read.bytes !== null) result.made += 1;
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

interface Work {
  /** The folder of the thumbnails. */
  folder: string;
  inline: boolean;
  knownImages: KnownImages;
  /** Names of regular files in the folder of the thumbnails: a link may lead to anything. */
  files: Set<string>;
  hasDecoder: boolean;
}

interface ReadImage {
  facts: KnownImage;
  /** The thumbnail; null if it is in its folder, or cannot be made. */
  bytes: Buffer | null;
}

async function regularFiles(folder: string): Promise<Set<string>> {
  const entries = await promises.readdir(folder, { withFileTypes: true }).catch(() => []);
  return new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name));
}

/**
 * What is in an image: all there is to know of it, and its thumbnail unless that is there. Null for a contact sheet,
 * whose images have their own place.
 */
async function readImage(image: FoundImage, work: Work): Promise<ReadImage | UnreadableImage | null> {
  const { knownImages, files, inline, hasDecoder } = work;
  try {
    const facts = knownImages.get(image) ?? (await examine(image));
    if (facts === null) return null;
    knownImages.set(image.name, facts);
    // Those in the folder may have come with it, and are not put into a page.
    const isNew = hasDecoder && (inline || !files.has(thumbnailName(facts)));
    return { facts, bytes: isNew ? await thumbnail(image.path, EDGE) : null };
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
    await replaceWhole(file, bytes, 0o666);
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

async function examine({ path: file, bytes, modifiedMs }: FoundImage): Promise<KnownImage | null> {
  if (isContactSheet(readHead(file))) return null;
  const inspection = inspectFileAt(file);
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
