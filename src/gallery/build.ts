import { lstatSync } from "node:fs";
import path from "node:path";
import { type ImageOrigin, originInSidecar, originOfTask } from "../core/engine/origin.ts";
import { SaveFailedError } from "../core/errors.ts";
import { isoTime } from "../lib/clock.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { nameIsTaken } from "../lib/publish.ts";
import { isFolder, readHead } from "../lib/read-file.ts";
import { shellWord } from "../lib/shell-word.ts";
import { replaceWhole } from "../lib/write-whole.ts";
import { fieldValue } from "../models/provider-fields.ts";
import { FLAG_LABELS } from "../models/rules/rule.ts";
import type { Ledger } from "../store/ledger.ts";
import { SANDBOX_SERVICE } from "../task/intent.ts";
import { type GenerationRequest, ownSettings } from "../task/request.ts";
import { FIELD_NAMES, type FieldName } from "../task/request-fields.ts";
import { findImages, isFreeForThumbnails, THUMBNAILS } from "./find-images.ts";
import { galleryPage, isGalleryPage, type PageImage } from "./page.ts";
import {
  makeThumbnails,
  type ThumbnailedImage,
  type ThumbnailOptions,
  type ThumbnailResult,
} from "./thumbnails.ts";

interface GalleryOptions extends ThumbnailOptions {
  /** The folder of the images. Absolute. */
  folder: string;
  /** Where the page goes, absolute. */
  page: string;
  /** Whether a file that is no page of ours is replaced. */
  overwrite: boolean;
  ledger: Pick<Ledger, "findByFiles">;
}

export interface Gallery extends Omit<ThumbnailResult, "images"> {
  images: PageImage[];
}

/**
 * Makes a page of the images in a folder and below, with what the ledger and their sidecars know of them.
 * @throws UsageError if there is no such folder, or the page would replace another file; SaveFailedError if it cannot
 * be written; or the signal's reason
 */
export async function buildGallery(options: GalleryOptions): Promise<Gallery> {
  const { folder, page, inline, overwrite, ledger, signal } = options;
  if (!isFolder(folder)) throw new UsageError(`There is no folder ${folder}.`);
  const thumbnails = page.replace(/\.html?$/i, "") + THUMBNAILS;
  try {
    await refuseForeign(page, inline ? null : thumbnails, overwrite);
    const found = await findImages(folder);
    await makeFolder(path.dirname(page), 0o777);
    const { images, ...result } = await makeThumbnails(found, thumbnails, options);
    const origins = await originsOf(images, ledger);
    const ids = idsOf(images);
    const shown = images.map((image, at) => ({
      id: ids[at] ?? "",
      ...pageImage(image, origins[at] ?? null, page),
    }));
    await replaceWhole(page, galleryPage(path.basename(folder) || folder, shown), 0o666);
    return { ...result, images: shown };
  } catch (error) {
    if (signal.aborted || errorCode(error) === undefined) throw error;
    throw new SaveFailedError(`The gallery cannot be made in ${path.dirname(page)}: ${errorText(error)}.`, {
      hint: "Choose another place with --output.",
      charged: "no",
      cause: error,
    });
  }
}

/** @throws UsageError if the page or its thumbnails would replace what imggen gallery did not make */
async function refuseForeign(page: string, thumbnails: string | null, overwrite: boolean): Promise<void> {
  const isLink = thumbnails !== null && lstatSync(thumbnails, { throwIfNoEntry: false })?.isSymbolicLink();
  if (isLink) {
    throw new UsageError(`${thumbnails} is a link, and thumbnails are not written through one.`, {
      hint: "Remove it, or choose another --output.",
    });
  }
  if (overwrite) return;
  const isPageFree = !(await nameIsTaken(page)) || isGalleryPage(readHead(page).toString());
  if (isPageFree && (thumbnails === null || (await isFreeForThumbnails(thumbnails)))) return;
  const foreign = isPageFree ? thumbnails : page;
  throw new UsageError(`${foreign} exists already, and imggen gallery did not make it.`, {
    hint: "Choose another --output, or replace it with --overwrite.",
  });
}

/** What each image was made from; null if that is not known. The ledger is read in one pass. */
async function originsOf(
  images: readonly ThumbnailedImage[],
  ledger: GalleryOptions["ledger"],
): Promise<(ImageOrigin | null)[]> {
  const records = await ledger.findByFiles(new Set(images.map(({ sha256 }) => sha256)));
  const origins: (ImageOrigin | null)[] = [];
  for (const { sha256, found } of images) {
    const record = records.get(sha256);
    origins.push(record ? originOfTask(record, sha256) : await originInSidecar(found.path, sha256));
  }
  return origins;
}

/** Ids made from the images' bytes, so that a link survives a new name. Copies are numbered. */
function idsOf(images: readonly ThumbnailedImage[]): string[] {
  const counts = new Map<string, number>();
  return images.map(({ sha256 }) => {
    const id = sha256.slice(0, ID_DIGITS);
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return count === 1 ? id : `${id}-${count}`;
  });
}

const ID_DIGITS = 12;

function pageImage(
  { found, thumbnail, width, height }: ThumbnailedImage,
  origin: ImageOrigin | null,
  page: string,
): Omit<PageImage, "id"> {
  const file = addressOf(found.path, page);
  const small = thumbnail ?? found.path;
  const inlined = typeof small === "string" ? null : `data:image/webp;base64,${small.toString("base64")}`;
  const { prompt = null, model = null, ratio = null, quality = null } = origin?.request ?? {};
  return {
    file,
    thumbnail: inlined ?? addressOf(String(small), page),
    name: found.name,
    width,
    height,
    date: origin?.submittedAt ?? isoTime(found.modifiedMs),
    prompt,
    model,
    ratio,
    quality,
    settings: origin === null ? {} : ownSettings({ ...origin.request, seed: origin.seed }),
    credits: origin?.free ? 0 : (origin?.credits ?? null),
    task: origin?.taskId ?? null,
    command: origin && commandFor(origin),
  };
}

/** A file's address, relative to the page: both may be moved together. */
function addressOf(file: string, page: string): string {
  const relative = path.relative(path.dirname(page), file);
  return relative.split(path.sep).map(encodeURIComponent).join("/");
}

/**
 * The command line that makes an image again. A page may be given away, and the query of a reference image may be a
 * signature: such a request is named by its task.
 */
function commandFor({ request, service, taskId, record }: ImageOrigin): string | null {
  const where = service === SANDBOX_SERVICE ? ["--sandbox"] : [];
  const references = [request.image ?? []].flat();
  if (references.some((url) => url.includes("?")))
    return taskId && record ? ["imggen", "rerun", shellWord(taskId), ...where].join(" ") : null;
  const flags = FIELD_NAMES.filter((name) => name !== "prompt").flatMap((name) =>
    textsOf(request[name]).flatMap((text) => [FLAG_LABELS[name], shellWord(text)]),
  );
  for (const [name, value] of Object.entries(request.fields ?? {}))
    if (typeof value === "object") flags.push("--field-json", shellWord(`${name}=${JSON.stringify(value)}`));
  const end = request.prompt.startsWith("-") ? ["--"] : [];
  return ["imggen", "generate", ...flags, ...where, ...end, shellWord(request.prompt)].join(" ");
}

/** The values of a field, each as its flag accepts it. */
function textsOf(value: GenerationRequest[FieldName]): string[] {
  if (typeof value !== "object") return value === undefined ? [] : [String(value)];
  if (Array.isArray(value)) return value;
  // Quotes keep a text that looks like a number from becoming one.
  return Object.entries(value)
    .filter(([, each]) => typeof each !== "object")
    .map(([name, each]) =>
      typeof each === "string" && fieldValue(each) !== each ? `${name}="${each}"` : `${name}=${each}`,
    );
}
