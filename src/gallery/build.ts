import { lstatSync } from "node:fs";
import path from "node:path";
import { type ImageOrigin, originInSidecar, originOfTask, shortenedImage } from "../core/engine/origin.ts";
import { SaveFailedError } from "../core/errors.ts";
import { isoTime } from "../lib/clock.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { isNameTaken } from "../lib/publish.ts";
import { isFolder, readHead } from "../lib/read-file.ts";
import { shellWord } from "../lib/shell-word.ts";
import { replaceAtomically } from "../lib/write-whole.ts";
import type { Ledger } from "../store/ledger.ts";
import { isAtGenerator, SANDBOX_SERVICE } from "../task/intent.ts";
import { generatorFieldTexts } from "../task/request.ts";
import type { Task } from "../task/task.ts";
import { canHaveThumbnails, findImages, THUMBNAILS_SUFFIX } from "./find-images.ts";
import { isGalleryPage, type PageImage, renderGalleryPage } from "./page.ts";
import {
  makeThumbnails,
  type ThumbnailedImage,
  type ThumbnailOptions,
  type ThumbnailResult,
} from "./thumbnails.ts";

interface GalleryOptions extends ThumbnailOptions {
  folder: string;
  page: string;
  overwrite: boolean;
  ledger: Pick<Ledger, "findByFiles">;
  /** Returns the profile of a service or generator in the ledger, or null if it has no profile. */
  findProfile: (service: string) => string | null;
}

export interface Gallery extends Omit<ThumbnailResult, "images"> {
  images: PageImage[];
}

/**
 * Creates a page of the images in a folder and its subfolders, with data from the ledger and sidecars.
 * @throws UsageError if the folder does not exist, or the page would replace another file
 * @throws SaveFailedError if the page cannot be written; the signal's reason after an abort
 */
export async function buildGallery(options: GalleryOptions): Promise<Gallery> {
  const { folder, page, inline, overwrite, ledger, signal } = options;
  if (!isFolder(folder)) throw new UsageError(`The folder ${folder} does not exist.`);
  const thumbnails = page.replace(/\.html?$/i, "") + THUMBNAILS_SUFFIX;
  try {
    await refuseForeignFiles(page, inline ? null : thumbnails, overwrite);
    const files = await findImages(folder);
    await makeFolder(path.dirname(page), 0o777);
    const { images, ...result } = await makeThumbnails(files, thumbnails, options);
    const origins = await findOrigins(images, ledger);
    const ids = createPageIds(images);
    const pageImages = images.map((image, at) => ({
      id: ids[at] ?? "",
      ...toPageImage(image, origins[at] ?? null, options),
    }));
    await replaceAtomically(page, renderGalleryPage(path.basename(folder) || folder, pageImages), 0o666);
    return { ...result, images: pageImages };
  } catch (error) {
    if (signal.aborted || errorCode(error) === undefined) throw error;
    throw new SaveFailedError(
      `The gallery cannot be written to ${path.dirname(page)}: ${errorText(error)}.`,
      {
        hint: "Choose another place with --output.",
        charged: "no",
        cause: error,
      },
    );
  }
}

/** @throws UsageError if a file or folder of another program would be replaced */
async function refuseForeignFiles(
  page: string,
  thumbnails: string | null,
  overwrite: boolean,
): Promise<void> {
  const isLink = thumbnails !== null && lstatSync(thumbnails, { throwIfNoEntry: false })?.isSymbolicLink();
  if (isLink) {
    throw new UsageError(`${thumbnails} is a link, and thumbnails are not written through one.`, {
      hint: "Remove it, or choose another --output.",
    });
  }
  if (overwrite) return;
  const canWritePage = !(await isNameTaken(page)) || isGalleryPage(readHead(page).toString());
  if (canWritePage && (thumbnails === null || (await canHaveThumbnails(thumbnails)))) return;
  const foreignPath = canWritePage ? thumbnails : page;
  throw new UsageError(`${foreignPath} exists already, and is not from imggen gallery.`, {
    hint: "Choose another --output, or replace it with --overwrite.",
  });
}

async function findOrigins(
  images: readonly ThumbnailedImage[],
  ledger: GalleryOptions["ledger"],
): Promise<(ImageOrigin | null)[]> {
  const records = await ledger.findByFiles(new Set(images.map(({ sha256 }) => sha256)));
  const origins: (ImageOrigin | null)[] = [];
  for (const { sha256, source } of images) {
    const record = records.get(sha256);
    origins.push(record ? originOfTask(record, sha256) : await originInSidecar(source.path, sha256));
  }
  return origins;
}

/** Creates ids from the images' content, so that links still work after a file is renamed. Copies get a number. */
function createPageIds(images: readonly ThumbnailedImage[]): string[] {
  const counts = new Map<string, number>();
  return images.map(({ sha256 }) => {
    const id = sha256.slice(0, ID_DIGITS);
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return count === 1 ? id : `${id}-${count}`;
  });
}

const ID_DIGITS = 12;

function toPageImage(
  { source, thumbnail, width, height }: ThumbnailedImage,
  origin: ImageOrigin | null,
  { page, findProfile }: Pick<GalleryOptions, "page" | "findProfile">,
): Omit<PageImage, "id"> {
  const file = relativeUrl(source.path, page);
  const thumbnailSource = thumbnail ?? source.path;
  const inlined =
    typeof thumbnailSource === "string"
      ? null
      : `data:image/webp;base64,${thumbnailSource.toString("base64")}`;
  const { prompt = null, model = null, ratio = null, quality = null } = origin?.request ?? {};
  return {
    file,
    thumbnail: inlined ?? relativeUrl(String(thumbnailSource), page),
    name: source.name,
    width,
    height,
    date: origin?.submittedAt ?? isoTime(source.modifiedMs),
    prompt,
    model,
    ratio,
    quality,
    settings:
      origin === null
        ? {}
        : generatorFieldTexts({ ...origin.request, seed: origin.seed ?? origin.request.seed }),
    credits: origin?.free ? 0 : (origin?.credits ?? null),
    task: origin?.taskId ?? null,
    command: origin && rerunCommand(origin, source.path, findProfile),
  };
}

/** Returns a relative URL, so that page and images can be moved together. */
function relativeUrl(file: string, page: string): string {
  const relative = path.relative(path.dirname(page), file);
  return relative.split(path.sep).map(encodeURIComponent).join("/");
}

/** A sidecar might be forged, so without a ledger entry the command selects no provider except the sandbox. */
function rerunCommand(
  origin: ImageOrigin,
  image: string,
  findProfile: GalleryOptions["findProfile"],
): string | null {
  if (shortenedImage(origin) !== undefined) return null;
  const { service, taskId, record } = origin;
  const argument = record === null ? image : (taskId ?? record.id);
  return ["imggen", "rerun", shellWord(argument), ...serviceFlags(service, record, findProfile)].join(" ");
}

function serviceFlags(
  service: string,
  record: Task | null,
  findProfile: GalleryOptions["findProfile"],
): string[] {
  if (service === SANDBOX_SERVICE) return ["--sandbox"];
  if (record === null) return [];
  const profile = findProfile(service);
  if (profile !== null) return ["--profile", profile];
  return isAtGenerator(record.intent) ? ["--generator", shellWord(service)] : [];
}
