import { promises } from "node:fs";
import path from "node:path";
import { isContactSheet } from "../graphics/contact-sheet.ts";
import { loadSharp, thumbnail, UndecodableError } from "../graphics/decoder.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fileSha256, sha256Hex } from "../lib/file-digest.ts";
import { inspectFileAt } from "../lib/image/inspect.ts";
import { readHead, readRegular } from "../lib/read-file.ts";
import { createWhole, replaceWhole } from "../lib/write-whole.ts";
import { type FoundImage, MARKER } from "./find-images.ts";

/** Sharp enough for a card on a display of double density. */
const EDGE = 384;
/** Each takes a processor, and some tens of megabytes. */
const AT_ONCE = 2;

/** An image with its thumbnail. */
export interface ThumbnailedImage {
  found: FoundImage;
  /** Digest in hex. */
  sha256: string;
  width: number;
  height: number;
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
 * Name of a thumbnail: digest of the image's path, size and time, by which an unchanged image is known without being read;
 * then the image's own digest and dimensions. It may come from anyone, along with the images.
 */
const NAME = /^([0-9a-f]{16})-(([0-9a-f]{64})-(\d{1,9})x(\d{1,9})\.webp)$/;

/**
 * Finds out what images there are, and makes what thumbnails are missing. Whatever was done when it is interrupted need
 * not be done again. @throws the system's error if a thumbnail cannot be written; or the signal's reason
 */
export async function makeThumbnails(
  found: readonly FoundImage[],
  folder: string,
  { inline, signal, onProgress }: ThumbnailOptions,
): Promise<ThumbnailResult> {
  // Those in the folder may have come with it, and are not put into a page.
  const names = inline ? [] : await openFolder(folder);
  const matches = names.map((name) => NAME.exec(name)).filter((match) => match !== null);
  const earlier: EarlierThumbnails = {
    folder,
    byFile: new Map(matches.map((match) => [match[1] ?? "", match])),
    byContent: new Map(matches.map((match) => [match[2] ?? "", match[0]])),
  };
  const hasDecoder = await isDecoderThere();
  const result: ThumbnailResult = { images: [], unreadable: [], made: 0, hasDecoder };
  let done = 0;
  const take = async (image: FoundImage): Promise<ThumbnailedImage | null> => {
    signal.throwIfAborted();
    const read = await readImage(image, earlier, hasDecoder);
    onProgress(++done, found.length);
    if (read === null) return null;
    if ("why" in read) {
      result.unreadable.push(read);
      return null;
    }
    const { name, bytes, isNew, ...facts } = read;
    if (isNew) result.made += 1;
    if (inline || bytes === null) return { ...facts, thumbnail: bytes === "kept" ? null : bytes };
    const file = path.join(folder, name);
    if (bytes !== "kept") await replaceWhole(file, bytes, 0o666);
    return { ...facts, thumbnail: file };
  };
  const taken = await mapConcurrent(found, AT_ONCE, take);
  result.unreadable.sort((a, b) => (a.name < b.name ? -1 : 1));
  result.images = taken.filter((image) => image !== null);
  const used = new Set(result.images.map((image) => image.thumbnail));
  for (const [name] of matches)
    if (!used.has(path.join(folder, name))) await promises.unlink(path.join(folder, name)).catch(() => {});
  return result;
}

/** The thumbnails of an earlier run: their names by the two parts of these. */
interface EarlierThumbnails {
  folder: string;
  byFile: ReadonlyMap<string, RegExpExecArray>;
  byContent: ReadonlyMap<string, string>;
}

/** Makes the folder and marks it as imggen's. @returns the names of its regular files: a link may lead to anything */
async function openFolder(folder: string): Promise<string[]> {
  await makeFolder(folder, 0o777);
  await createWhole(path.join(folder, MARKER), "", 0o666);
  const entries = await promises.readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

interface ReadImage extends Omit<ThumbnailedImage, "thumbnail"> {
  name: string;
  /** The thumbnail; `kept` if its file is there, null if it cannot be made. */
  bytes: Buffer | "kept" | null;
  /** Whether it was made, and not copied from the same image under another name. */
  isNew: boolean;
}

/** An image with its thumbnail unless that is there. Null for a contact sheet, whose images are listed themselves. */
async function readImage(
  found: FoundImage,
  { folder, byFile, byContent }: EarlierThumbnails,
  hasDecoder: boolean,
): Promise<ReadImage | UnreadableImage | null> {
  const key = keyOf(found);
  const [name, , , sha256 = "", width, height] = byFile.get(key) ?? [];
  if (name !== undefined)
    return { found, sha256, width: Number(width), height: Number(height), name, bytes: "kept", isNew: false };
  try {
    if (isContactSheet(readHead(found.path))) return null;
    const inspection = inspectFileAt(found.path);
    if (!inspection.ok) throw new UndecodableError(inspection.detail);
    const { width, height } = inspection.image;
    const sha256 = await fileSha256(found.path);
    const content = `${sha256}-${width}x${height}.webp`;
    const same = byContent.get(content);
    const isNew = hasDecoder && same === undefined;
    const copied = same === undefined ? null : readRegular(path.join(folder, same));
    const bytes = isNew ? await thumbnail(found.path, EDGE) : copied;
    return { found, sha256, width, height, name: `${key}-${content}`, bytes, isNew };
  } catch (error) {
    return { name: found.name, why: error instanceof UndecodableError ? error.message : errorText(error) };
  }
}

/** Digest of an image's path, size and time. */
function keyOf({ name, bytes, modifiedMs }: FoundImage): string {
  return sha256Hex(Buffer.from(JSON.stringify([name, bytes, modifiedMs]))).slice(0, 16);
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
