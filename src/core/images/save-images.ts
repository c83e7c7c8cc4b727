import { createReadStream, promises } from "node:fs";
import path from "node:path";
import { makeFolder, removeIfPossible } from "../../lib/durable.ts";
import { isFileOf } from "../../lib/file-digest.ts";
import { EXTENSIONS } from "../../lib/image/extensions.ts";
import { type OwnedKind, ownedName, removeAbandoned } from "../../lib/owned-name.ts";
import { publish } from "../../lib/publish.ts";
import { withoutQuery } from "../../lib/redact.ts";
import { syncFolder } from "../../lib/sync-folder.ts";
import { whileInUse } from "../../lib/while-in-use.ts";
import type { Destination } from "../../task/destination.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { TaskDeps } from "../deps.ts";
import { DownloadFailedError, SaveFailedError } from "../errors.ts";
import { type DownloadedImage, diskFailure, downloadImage } from "./download-image.ts";
import { numberedPath, renderName } from "./file-name.ts";
import { claimName, sweepReservations } from "./reserve-name.ts";
import type { SidecarFacts } from "./sidecar.ts";

export interface SaveOrder {
  taskId: string;
  /** What the images' sidecars say, if the destination asks for any; null if too little is known of the task. */
  facts: SidecarFacts | null;
  request: GenerationRequest | null;
  destination: Destination;
  urls: string[];
  /** The files of an earlier run, by the position of their URL; downloaded again only if the file is gone or changed. */
  saved: readonly (SavedFile | null)[];
  /** Polls for all result URLs again; null if the service gives none. */
  freshUrls: () => Promise<string[] | null>;
  /** Start of the temporary files' names; the same in every process that works on this task. */
  stem: string;
  /** Whether this process has claimed the task. */
  owned: boolean;
  /** The time of the submit, for names: a resumed task then gets the same name. */
  date: Date;
  /** Whether a file that an earlier process published just before it ended is recognised, not saved again. */
  recovering: boolean;
}

export interface SaveResult {
  /** One entry for each result URL, in their order; null for an image that is not saved. */
  files: (SavedFile | null)[];
  warnings: string[];
}

/** The most images of one task that are downloaded. No model makes more than 15. */
export const MOST_IMAGES = 16;
/** The most URLs that a warning lists. */
const MOST_NAMED = 4;

/**
 * Downloads, checks and publishes every image of a task, and adds each to `result` as it is published. If one cannot be
 * downloaded, the others are still saved; a signal or a disk error ends it at once.
 * @throws SaveFailedError, or the signal's reason; what was saved until then is in `result`
 */
export async function saveImages(order: SaveOrder, result: SaveResult, deps: TaskDeps): Promise<void> {
  const urls = order.urls.slice(0, MOST_IMAGES);
  const surplus = order.urls.slice(MOST_IMAGES);
  if (surplus.length > 0) result.warnings.push(surplusWarning(surplus));
  result.files = urls.map(() => null);
  const failures: DownloadFailedError[] = [];
  for (const [at, url] of urls.entries()) {
    deps.signal.throwIfAborted();
    result.files[at] = await findSaved(url, at, order);
    if (result.files[at] !== null) continue;
    deps.onProgress({ type: "downloading", taskId: order.taskId, index: at + 1, count: urls.length });
    try {
      result.files[at] = await saveImage(url, at, order, result, deps);
    } catch (error) {
      if (!(error instanceof DownloadFailedError)) throw error;
      failures.push(error);
    }
  }
  const [first] = failures;
  if (first) throw urls.length === 1 ? first : severalFailed(failures, urls.length);
}

function surplusWarning(urls: readonly string[]): string {
  const named = urls.slice(0, MOST_NAMED).map(withoutQuery).join(", ");
  const more = urls.length > MOST_NAMED ? `, and ${urls.length - MOST_NAMED} more` : "";
  return (
    `The service returned ${MOST_IMAGES + urls.length} images; the first ${MOST_IMAGES} were downloaded. ` +
    `Not downloaded: ${named}${more}. All URLs are in the ledger.`
  );
}

function severalFailed(failures: readonly DownloadFailedError[], images: number): SaveFailedError {
  const reasons = failures.map(({ reason }) => reason).join("; ");
  const message = `${failures.length} of ${images} images could not be fetched: ${reasons}.`;
  return new SaveFailedError(message, { charged: "yes", cause: failures[0] });
}

/**
 * The file of an image that an earlier run saved, if it is still complete: its URL may have expired since, which must
 * not keep the task from finishing.
 */
async function findSaved(url: string, at: number, { saved }: SaveOrder): Promise<SavedFile | null> {
  const file = saved[at];
  // Compared without the query: it may hold a signature, which changes with every poll.
  if (!file || withoutQuery(file.url) !== withoutQuery(url)) return null;
  return (await isWhole(file)) ? file : null;
}

/** Whether a saved file is unchanged, byte for byte. An image written to standard output counts as unchanged. */
export async function isWhole({ path: file, ...saved }: SavedFile): Promise<boolean> {
  return file === null || (await isFileOf(file, saved).catch(() => false));
}

async function saveImage(
  url: string,
  at: number,
  order: SaveOrder,
  result: SaveResult,
  deps: TaskDeps,
): Promise<SavedFile> {
  const index = at + 1;
  const folder = stagingFolder(order.destination, index, deps);
  try {
    await makeFolder(folder, folder === deps.ledger.folder ? 0o700 : 0o777);
  } catch (error) {
    throw diskFailure(folder, error);
  }
  const { processes } = deps.ledger;
  const kind = { prefix: `.imggen-${order.stem}-${index}-`, extension: ".part" };
  if (order.recovering && order.owned) await removeLeftovers(folder, kind, deps);
  // Named after this process: another process on the same task must never write into a file that this one publishes.
  const temporary = path.join(folder, ownedName(kind, processes.self));
  const freshUrl = async () => (await order.freshUrls())?.[at] ?? null;
  const fetched = await downloadImage({ url, taskId: order.taskId, freshUrl }, temporary, deps);
  const placed = await place(fetched, index, order, result, deps);
  const file = savedFile(fetched, placed.path);
  result.warnings.push(...placed.warnings);
  // Before the image is recorded: whoever is killed in between writes it when the task is resumed.
  const why = await addSidecar(file, temporary, order, deps);
  if (why !== null) result.warnings.push(why);
  deps.onProgress({ type: "saved", file });
  return file;
}

/** @returns why there is no sidecar although the destination asks for one, else null */
async function addSidecar(
  file: SavedFile,
  temporary: string,
  { destination, facts }: SaveOrder,
  deps: TaskDeps,
): Promise<string | null> {
  if (!destination.sidecar || file.path === null || facts === null) return null;
  const { writeSidecar } = await import("./sidecar.ts");
  const { overwrite } = destination;
  return writeSidecar(file, facts, { image: file.path, temporary, overwrite }, deps);
}

/** Removes temporary files of dead processes; those that may be in use are left alone. */
async function removeLeftovers(folder: string, kind: OwnedKind, { ledger, clock }: TaskDeps): Promise<void> {
  await removeAbandoned(folder, kind, ledger.processes, clock.now());
  await sweepReservations(folder, ledger.processes);
}

function savedFile({ url, image, bytes, sha256 }: DownloadedImage, file: string | null): SavedFile {
  const { mediaType, width, height } = image;
  return { path: file, url, mediaType, bytes, sha256, width, height };
}

/** The folder of the final name, so that publishing stays within one file system. */
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
  fetched: DownloadedImage,
  index: number,
  order: SaveOrder,
  result: SaveResult,
  deps: TaskDeps,
): Promise<Placed> {
  if (order.destination.kind === "stdout" && index === 1) return writeToStdout(fetched, deps);
  const wanted = finalPath(fetched, index, order);
  try {
    const file = await publishNumbered(fetched, wanted, index, order, result, deps);
    await syncFolder(path.dirname(file));
    return { path: file, warnings: typeWarnings(file, fetched) };
  } catch (error) {
    // The next run downloads it again.
    removeIfPossible(fetched.temporary);
    throw diskFailure(wanted, error);
  }
}

/** The path of an image if the name is free. */
function finalPath(fetched: DownloadedImage, index: number, order: SaveOrder): string {
  const { destination, taskId, request } = order;
  const { extension } = fetched.image;
  if (destination.kind === "file") {
    return path.extname(destination.path) === "" ? `${destination.path}.${extension}` : destination.path;
  }
  const name = renderName(destination.template, { request, taskId, index, extension, date: order.date });
  return path.join(destination.folder, name);
}

/** Publishes under the first free number; with `--overwrite`, under the image's own number. */
async function publishNumbered(
  fetched: DownloadedImage,
  wanted: string,
  index: number,
  order: SaveOrder,
  { files }: SaveResult,
  deps: TaskDeps,
): Promise<string> {
  const { destination } = order;
  const numberedByTemplate = destination.kind !== "file" && destination.template.includes("{index}");
  for (let number = numberedByTemplate ? 1 : index; ; number++) {
    const file = numberedPath(wanted, number);
    if ((await publishAs(fetched.temporary, file, order, deps)) === "published") return file;
    // If two images of a task are equal, the first one's file must not count as the second's.
    const isOurs = files.some((saved) => saved?.path === file);
    if (order.recovering && !isOurs && (await isFileOf(file, fetched))) {
      await whileInUse(() => promises.unlink(fetched.temporary));
      return file;
    }
  }
}

async function publishAs(
  temporary: string,
  file: string,
  order: SaveOrder,
  deps: TaskDeps,
): Promise<"published" | "exists"> {
  const reserve = (name: string) => claimName(name, deps.ledger.processes);
  if (!order.destination.overwrite) return publish(temporary, file, reserve);
  // Without the reservation, two processes that both find an old file would replace each other's image.
  const giveUp = await reserve(file);
  if (giveUp === null) return "exists";
  try {
    return await replace(temporary, file, order, deps);
  } finally {
    await giveUp();
  }
}

async function replace(
  temporary: string,
  file: string,
  { date }: SaveOrder,
  { published, clock }: TaskDeps,
): Promise<"published" | "exists"> {
  if (!(await published.take(file, date.getTime()))) return "exists";
  try {
    // Other processes recognise it as new by its modification time; that of its last byte may be before they began.
    const now = new Date(clock.now());
    await promises.utimes(temporary, now, now);
    await whileInUse(() => promises.rename(temporary, file));
    return "published";
  } catch (error) {
    await published.giveBack(file);
    throw error;
  }
}

/** A name that the user chose is kept even if the bytes are of another type; this warns about it. */
function typeWarnings(file: string, { image }: DownloadedImage): string[] {
  const named = path.extname(file).slice(1).toLowerCase();
  const extensions: readonly string[] = EXTENSIONS[image.type];
  if (extensions.includes(named)) return [];
  return [`${path.basename(file)} holds a ${image.extension.toUpperCase()} image.`];
}

async function writeToStdout(fetched: DownloadedImage, deps: TaskDeps): Promise<Placed> {
  try {
    await deps.writeOut(createReadStream(fetched.temporary));
  } catch (error) {
    throw new SaveFailedError("The image could not be written to standard output.", {
      charged: "yes",
      cause: error,
    });
  } finally {
    await whileInUse(() => promises.unlink(fetched.temporary));
  }
  return { path: null, warnings: [] };
}
