import { promises } from "node:fs";
import path from "node:path";
import { isContactSheet } from "../graphics/contact-sheet.ts";
import { createThumbnail, loadSharp, UndecodableError } from "../graphics/decoder.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fileSha256, sha256Hex } from "../lib/file-digest.ts";
import { inspectFile } from "../lib/image/inspect.ts";
import { readHead, readRegular } from "../lib/read-file.ts";
import { createAtomically, replaceAtomically } from "../lib/write-whole.ts";
import { type FoundImage, MARKER } from "./find-images.ts";

/** Maximum width and height of a thumbnail, enough for a card on a display of double density. */
const MAX_EDGE_PX = 384;
/** Maximum number of images processed at once, because each image uses a processor and tens of megabytes. */
const MAX_CONCURRENT = 2;

export interface ThumbnailedImage {
  source: FoundImage;
  sha256: string;
  width: number;
  height: number;
  /** Path or bytes of the thumbnail, or null if the optional decoder is missing. */
  thumbnail: string | Buffer | null;
}

export interface UnreadableImage {
  name: string;
  why: string;
}

export interface ThumbnailOptions {
  /** Whether the page contains the thumbnails. If not, they are files beside the page. */
  inline: boolean;
  signal: AbortSignal;
  onProgress: (count: number, total: number) => void;
}

export interface ThumbnailResult {
  images: ThumbnailedImage[];
  unreadable: UnreadableImage[];
  newThumbnails: number;
  hasDecoder: boolean;
}

/** Digest of path, size and time (recognises an unchanged image without a read), digest of the content, dimensions. */
const THUMBNAIL_NAME = /^([0-9a-f]{16})-(([0-9a-f]{64})-(\d{1,9})x(\d{1,9})\.webp)$/;

/** Reuses thumbnails and removes unused ones. @throws the system's error; the signal's reason after an abort */
export async function makeThumbnails(
  files: readonly FoundImage[],
  folder: string,
  { inline, signal, onProgress }: ThumbnailOptions,
): Promise<ThumbnailResult> {
  // Existing thumbnails are not embedded in a page, because they might be forged.
  const names = inline ? [] : await openFolder(folder);
  const matches = names.map((name) => THUMBNAIL_NAME.exec(name)).filter((match) => match !== null);
  const earlierThumbnails: EarlierThumbnails = {
    folder,
    byFile: new Map(matches.map((match) => [match[1] ?? "", match])),
    byContent: new Map(matches.map((match) => [match[2] ?? "", match[0]])),
  };
  const hasDecoder = await prepareDecoder();
  const result: ThumbnailResult = { images: [], unreadable: [], newThumbnails: 0, hasDecoder };
  let count = 0;
  const processImage = async (image: FoundImage): Promise<ThumbnailedImage | null> => {
    signal.throwIfAborted();
    const read = await readImage(image, earlierThumbnails, hasDecoder);
    onProgress(++count, files.length);
    if (read === null) return null;
    if ("why" in read) {
      result.unreadable.push(read);
      return null;
    }
    const { name, bytes, isNew, ...facts } = read;
    if (isNew) result.newThumbnails += 1;
    if (inline || bytes === null) return { ...facts, thumbnail: bytes === "kept" ? null : bytes };
    const file = path.join(folder, name);
    if (bytes !== "kept") await replaceAtomically(file, bytes, 0o666);
    return { ...facts, thumbnail: file };
  };
  const results = await mapConcurrent(files, MAX_CONCURRENT, processImage);
  result.unreadable.sort((a, b) => (a.name < b.name ? -1 : 1));
  result.images = results.filter((image) => image !== null);
  const usedFiles = new Set(result.images.map((image) => image.thumbnail));
  for (const [name] of matches)
    if (!usedFiles.has(path.join(folder, name)))
      await promises.unlink(path.join(folder, name)).catch(() => {});
  return result;
}

interface EarlierThumbnails {
  folder: string;
  byFile: ReadonlyMap<string, RegExpExecArray>;
  byContent: ReadonlyMap<string, string>;
}

/** Creates and marks the folder. Returns its regular files, without links, because a link can lead anywhere. */
async function openFolder(folder: string): Promise<string[]> {
  await makeFolder(folder, 0o777);
  await createAtomically(path.join(folder, MARKER), "", 0o666);
  const entries = await promises.readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

interface ReadImage extends Omit<ThumbnailedImage, "thumbnail"> {
  name: string;
  /** Bytes of the thumbnail, `kept` if its file exists, or null if the decoder is missing. */
  bytes: Buffer | "kept" | null;
  /** False if the thumbnail is a copy of an equal image's thumbnail. */
  isNew: boolean;
}

/** Returns null for a contact sheet, because the page shows its images separately. */
async function readImage(
  source: FoundImage,
  { folder, byFile, byContent }: EarlierThumbnails,
  hasDecoder: boolean,
): Promise<ReadImage | UnreadableImage | null> {
  const key = cacheKey(source);
  const [name, , , sha256 = "", width, height] = byFile.get(key) ?? [];
  if (name !== undefined)
    return {
      source,
      sha256,
      width: Number(width),
      height: Number(height),
      name,
      bytes: "kept",
      isNew: false,
    };
  try {
    if (isContactSheet(readHead(source.path))) return null;
    const inspection = inspectFile(source.path);
    if (!inspection.ok) throw new UndecodableError(inspection.detail);
    const { width, height } = inspection.image;
    const sha256 = await fileSha256(source.path);
    const content = `${sha256}-${width}x${height}.webp`;
    const equalName = byContent.get(content);
    const isNew = hasDecoder && equalName === undefined;
    const copiedBytes = equalName === undefined ? null : readRegular(path.join(folder, equalName));
    const bytes = isNew ? await createThumbnail(source.path, MAX_EDGE_PX) : copiedBytes;
    return { source, sha256, width, height, name: `${key}-${content}`, bytes, isNew };
  } catch (error) {
    return { name: source.name, why: error instanceof UndecodableError ? error.message : errorText(error) };
  }
}

function cacheKey({ name, bytes, modifiedMs }: FoundImage): string {
  return sha256Hex(Buffer.from(JSON.stringify([name, bytes, modifiedMs]))).slice(0, 16);
}

async function prepareDecoder(): Promise<boolean> {
  try {
    const sharp = await loadSharp();
    // Each image is read once, so a cache has no use. Images are processed in parallel, so each uses one thread.
    sharp.cache(false);
    sharp.concurrency(1);
    return true;
  } catch {
    return false;
  }
}
