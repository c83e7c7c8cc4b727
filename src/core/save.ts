import { createReadStream, promises } from "node:fs";
import path from "node:path";
import { makeFolder, removeIfPossible } from "../lib/durable.ts";
import { isFileOf } from "../lib/file-digest.ts";
import { publish } from "../lib/publish.ts";
import { randomDigits } from "../lib/random-digits.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import type { GenerationRequest } from "../models/request.ts";
import type { Destination, SavedFile } from "../store/task.ts";
import type { TaskDeps } from "./deps.ts";
import { SaveFailedError } from "./errors.ts";
import { diskFailure, type FetchedImage, fetchImage } from "./fetch-image.ts";
import { numberedPath, renderName } from "./file-name.ts";

export interface SaveOrder {
  taskId: string;
  request: GenerationRequest | null;
  destination: Destination;
  urls: string[];
  /** Asks the service for all result URLs again; null where it gives none. */
  freshUrls: () => Promise<string[] | null>;
  /** Begins the names of the temporary files; the same in every process that works on this task. */
  stem: string;
  /** Whether this process alone may work on the task. */
  owned: boolean;
  /** The time that names tell: the submit's, so that a recovery finds the same name. */
  date: Date;
  /** A file that a former process published just before it ended is recognised, not saved again. */
  recovering: boolean;
}

export interface SaveResult {
  files: SavedFile[];
  warnings: string[];
}

/**
 * Fetches, checks and publishes every image of a task, and adds each to `result` as it is published.
 * @throws SaveFailedError, or the signal's reason; what was saved before is in `result` all the same
 */
export async function saveImages(order: SaveOrder, result: SaveResult, deps: TaskDeps): Promise<void> {
  for (const [at, url] of order.urls.entries()) {
    const index = at + 1;
    deps.onProgress({ type: "downloading", index, count: order.urls.length });
    const folder = stagingFolder(order.destination, index, deps);
    try {
      await makeFolder(folder, folder === deps.ledger.folder ? 0o700 : 0o777);
    } catch (error) {
      throw diskFailure(folder, error);
    }
    const stem = `.imggen-${order.stem}-${index}-`;
    if (order.recovering && order.owned) await removeLeftovers(folder, stem);
    // Of this process alone: whoever else is at the same task must never write into what is published here.
    const temporary = path.join(folder, `${stem}${randomDigits()}.part`);
    const freshUrl = async () => (await order.freshUrls())?.[at] ?? null;
    const fetched = await fetchImage({ url, freshUrl }, temporary, deps);
    const placed = await place(fetched, index, order, deps);
    const file = savedFile(fetched, placed.path);
    result.files.push(file);
    result.warnings.push(...placed.warnings);
    deps.onProgress({ type: "saved", file });
  }
}

/** What a process that has ended left half fetched. */
async function removeLeftovers(folder: string, stem: string): Promise<void> {
  const names = await promises.readdir(folder).catch(() => []);
  const leftovers = names.filter((name) => name.startsWith(stem) && name.endsWith(".part"));
  for (const name of leftovers) removeIfPossible(path.join(folder, name));
}

function savedFile({ url, image, bytes, sha256 }: FetchedImage, file: string | null): SavedFile {
  const { mediaType, width, height } = image;
  return { path: file, url, mediaType, bytes, sha256, width, height };
}

/** The folder of the final name, so that publishing never crosses a file system. */
function stagingFolder(destination: Destination, index: number, deps: TaskDeps): string {
  if (destination.kind === "file") return path.dirname(destination.path);
  if (destination.kind === "stdout" && index === 1) return deps.ledger.folder;
  return destination.folder;
}

interface Placed {
  path: string | null;
  warnings: string[];
}

async function place(
  fetched: FetchedImage,
  index: number,
  order: SaveOrder,
  deps: TaskDeps,
): Promise<Placed> {
  if (order.destination.kind === "stdout" && index === 1) return writeToStdout(fetched, deps);
  const wanted = finalPath(fetched, index, order);
  try {
    const file = await publishNumbered(fetched, wanted, index, order);
    await syncFolder(path.dirname(file));
    return { path: file, warnings: typeWarnings(file, fetched) };
  } catch (error) {
    // It is fetched again by whoever goes on; until then it would only lie about.
    removeIfPossible(fetched.temporary);
    throw diskFailure(wanted, error);
  }
}

/** The path an image gets where nothing is in its way. */
function finalPath(fetched: FetchedImage, index: number, order: SaveOrder): string {
  const { destination, taskId, request } = order;
  const { extension } = fetched.image;
  if (destination.kind === "file") {
    return path.extname(destination.path) === "" ? `${destination.path}.${extension}` : destination.path;
  }
  const name = renderName(destination.template, { request, taskId, index, extension, date: order.date });
  return path.join(destination.folder, name);
}

/** Publishes under the first free number, or, under `--overwrite`, under the number that is the image's own. */
async function publishNumbered(
  fetched: FetchedImage,
  wanted: string,
  index: number,
  order: SaveOrder,
): Promise<string> {
  const { destination } = order;
  const numberedByTemplate = destination.kind !== "file" && destination.template.includes("{index}");
  for (let number = numberedByTemplate ? 1 : index; ; number++) {
    const file = numberedPath(wanted, number);
    if ((await publish(fetched.temporary, file, destination.overwrite)) === "published") return file;
    if (order.recovering && (await isFileOf(file, fetched))) {
      await promises.unlink(fetched.temporary);
      return file;
    }
  }
}

/** A name that the user chose is kept, even where the bytes are of another type. */
function typeWarnings(file: string, { image }: FetchedImage): string[] {
  const named = path.extname(file).slice(1).toLowerCase();
  if (named === image.extension || (named === "jpeg" && image.extension === "jpg")) return [];
  return [`${path.basename(file)} holds a ${image.extension.toUpperCase()} image.`];
}

async function writeToStdout(fetched: FetchedImage, deps: TaskDeps): Promise<Placed> {
  try {
    await deps.writeOut(createReadStream(fetched.temporary));
  } catch (error) {
    throw new SaveFailedError("The image could not be written to standard output.", {
      charged: "yes",
      cause: error,
    });
  } finally {
    await promises.unlink(fetched.temporary);
  }
  return { path: null, warnings: [] };
}
