import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { inspectBytes, inspectFile } from "../../lib/image/inspect.ts";
import { redactUrl } from "../../lib/redact.ts";
import { joinFirst } from "../../lib/short-text.ts";
import { toClause } from "../../providers/failures.ts";
import { ProviderError } from "../../providers/provider.ts";
import type { Destination } from "../../task/intent.ts";
import { entriesOfRequest, fileIndex, MAX_SAVED_IMAGES, type SavedFile } from "../../task/saved-file.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { BadImageError, DownloadFailedError, SaveFailedError } from "../errors.ts";
import { copyImage, isWhole } from "./copy-image.ts";
import { type DownloadedImage, diskFailure, downloadImage, writeImage } from "./download-image.ts";
import type { ImageSource, OneImage, SeededImage } from "./image-source.ts";
import { placeImage } from "./place-image.ts";
import { sweepTemporaryFiles, temporaryName } from "./prepare-destination.ts";
import { sweepReservations } from "./published-names.ts";
import type { SaveResult, SaveSpec } from "./save-spec.ts";
import { writeSidecar } from "./sidecar.ts";

const MAX_NAMED = 4;

/**
 * Saves every image of a task that can be downloaded. An aborted signal or a disk error is thrown at once.
 * @throws SaveFailedError, or the signal's reason; `result` contains the files saved before the error
 */
export async function saveImages(spec: SaveSpec, result: SaveResult, deps: TaskDeps): Promise<void> {
  const { sources } = spec;
  result.files = sources.map(() => null);
  result.imageCounts = sources.map((source) =>
    source.kind === "urls" ? Math.min(source.images.length, MAX_SAVED_IMAGES) : 0,
  );
  if (spec.recovering && spec.claimedTaskId !== null) await sweepLeftovers(spec, deps);
  const failures: DownloadFailedError[] = [];
  for (const [request, source] of sources.entries()) {
    if (source.kind === "skipped") continue;
    deps.signal.throwIfAborted();
    if (source.kind === "saved") addSavedFiles(source.files, request, result);
    else failures.push(...(await saveRequest(source, request, spec, result, deps)));
  }
  const [first] = failures;
  if (!first) return;
  const count = countImages(sources, result);
  throw count === 1 ? first : downloadsFailedError(failures, count);
}

function addSavedFiles(files: readonly (SavedFile | null)[], request: number, result: SaveResult): void {
  for (const [imageIndex, file] of files.entries()) setFile(result, imageIndex, request, file);
  // The reply is gone, so an image after the first missing one cannot be expected.
  result.imageCounts[request] = [...files, null].indexOf(null);
}

/** Saves the images of one request. @returns the downloads that failed @throws a disk error, or the signal's reason */
async function saveRequest(
  source: Extract<ImageSource, { kind: "urls" | "reply" }>,
  request: number,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<DownloadFailedError[]> {
  try {
    const images =
      source.kind === "urls" ? limitImages(source, result, deps) : await readReply(source, request, result);
    return await saveEach(images, request, spec, result, deps);
  } catch (error) {
    if (!(error instanceof BadImageError)) return [toDownloadFailure(error)];
    if (!(await restoreSavedFiles(request, spec, result))) result.bad.push({ request, why: error.message });
    return [];
  }
}

/** @throws BadImageError if the only image is unusable */
async function saveEach(
  images: readonly OneImage[],
  request: number,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<DownloadFailedError[]> {
  result.imageCounts[request] = images.length;
  const failures: DownloadFailedError[] = [];
  for (const [imageIndex, image] of images.entries()) {
    deps.signal.throwIfAborted();
    try {
      setFile(result, imageIndex, request, await saveImage(image, imageIndex, request, spec, result, deps));
    } catch (error) {
      if (error instanceof BadImageError && images.length === 1) throw error;
      failures.push(toDownloadFailure(error));
    }
  }
  // A request with an image that another attempt might download is not gone.
  const [first] = failures;
  if (first && failures.every(({ isFinal }) => isFinal)) result.gone.push({ request, why: first.reason });
  return failures;
}

/** @throws any error that is not a failed download, such as a disk error */
function toDownloadFailure(error: unknown): DownloadFailedError {
  if (error instanceof DownloadFailedError) return error;
  if (error instanceof BadImageError) return new DownloadFailedError(error.message);
  throw error;
}

/** Number of images of the sources. A reply that is not read yet, or cannot be read, counts as one image. */
function countImages(sources: readonly ImageSource[], { imageCounts }: SaveResult): number {
  return sources.reduce(
    (sum, { kind }, request) => sum + (imageCounts[request] || (kind === "reply" ? 1 : 0)),
    0,
  );
}

function setFile(
  { files, imageCounts }: SaveResult,
  imageIndex: number,
  request: number,
  file: SavedFile | null,
): void {
  const at = fileIndex(imageIndex, request, imageCounts.length);
  while (files.length <= at) files.push(null);
  files[at] = file;
}

/** Adds the complete saved files of a request whose reply has no image. @returns whether its first image is saved */
async function restoreSavedFiles(request: number, spec: SaveSpec, result: SaveResult): Promise<boolean> {
  const files = entriesOfRequest(spec.savedFiles, request, spec.sources.length);
  const wholeFiles = await Promise.all(
    files.map(async (file) => (file && (await isWhole(file)) ? file : null)),
  );
  addSavedFiles(wholeFiles, request, result);
  return result.files[request] !== null;
}

function limitImages(
  { images }: Extract<ImageSource, { kind: "urls" }>,
  { warnings }: SaveResult,
  { connection }: TaskDeps,
): readonly OneImage[] {
  if (images.length > MAX_SAVED_IMAGES) {
    const surplus = images.slice(MAX_SAVED_IMAGES).map(({ url }) => redactUrl(connection.maskUrl(url)));
    warnings.push(
      `The service returned ${images.length} images; the first ${MAX_SAVED_IMAGES} were downloaded. ` +
        `Not downloaded: ${joinFirst(surplus, MAX_NAMED)}. All URLs are in the ledger.`,
    );
  }
  return images.slice(0, MAX_SAVED_IMAGES);
}

function downloadsFailedError(failures: readonly DownloadFailedError[], images: number): SaveFailedError {
  const reasons = failures.map(({ reason }) => reason).join("; ");
  const message = `${failures.length} of ${images} images could not be downloaded: ${reasons}.`;
  const hint = failures.every((failure) => failure.hint !== null) ? failures[0]?.hint : undefined;
  return new SaveFailedError(message, { charged: "yes", cause: failures[0], hint: hint ?? undefined });
}

/** Finds the unchanged file of an earlier run. It is not downloaded again, because the URL might have expired. */
async function findSaved(
  image: OneImage,
  at: number,
  { savedFiles }: SaveSpec,
  deps: TaskDeps,
): Promise<SavedFile | null> {
  const file = savedFiles[at];
  return file && isImageOf(file, image, deps) && (await isWhole(file)) ? file : null;
}

function isImageOf(file: SavedFile, image: OneImage, { connection: { maskUrl } }: TaskDeps): boolean {
  // URLs are compared without their queries, because a query can be a signature that changes with every poll.
  const toComparable = (url: string) => maskUrl(redactUrl(url));
  return image.kind !== "url" || toComparable(file.url ?? "") === toComparable(image.url);
}

async function saveImage(
  source: OneImage,
  imageIndex: number,
  request: number,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<SavedFile> {
  const at = fileIndex(imageIndex, request, spec.sources.length);
  const existing = await findSaved(source, at, spec, deps);
  if (existing !== null) return existing;
  const index = at + 1;
  const folder = stagingFolder(spec.destination, index, deps);
  try {
    await makeFolder(folder, folder === deps.ledger.folder ? 0o700 : 0o777);
  } catch (error) {
    throw diskFailure(folder, error);
  }
  // The name is random, so that no other process writes to the file that this process publishes.
  const temporary = path.join(folder, temporaryName(spec.claimedTaskId));
  const saved = spec.copies[at];
  const copy =
    saved && isImageOf(saved, source, deps) ? await copyImage(saved, temporary, deps.fileMode) : null;
  const position = {
    index: countImages(spec.sources.slice(0, request), result) + imageIndex + 1,
    count: countImages(spec.sources, result),
  };
  const stagedImage = copy ?? (await stageImage(source, position, temporary, spec, deps));
  const publishedFile = await placeImage(stagedImage, { index, seed: source.seed }, spec, result, deps);
  const file = toSavedFile(publishedFile.image, publishedFile.path, source.seed, deps);
  result.warnings.push(...publishedFile.warnings);
  // The sidecar is written before the image is recorded, because a resume does not write sidecars for recorded images.
  const sidecarProblem = await writeSidecar(file, temporary, spec, deps);
  if (sidecarProblem !== null) result.warnings.push(sidecarProblem);
  deps.onProgress({ type: "saved", taskId: spec.taskId, file });
  return file;
}

function stageImage(
  source: OneImage,
  position: { index: number; count: number },
  temporary: string,
  { taskId }: SaveSpec,
  deps: TaskDeps,
): Promise<DownloadedImage> {
  const image = source.kind === "url" ? source : source.image;
  if (image.kind !== "url") return writeImage(image, temporary, deps);
  deps.onProgress({ type: "downloading", taskId, ...position });
  const freshUrl = source.kind === "url" ? source.freshUrl : null;
  return downloadImage({ ...image, taskId, freshUrl }, temporary, deps);
}

/**
 * Returns the images of a stored reply.
 * @throws BadImageError if the reply has no image; DownloadFailedError if the reply cannot be read
 */
async function readReply(
  { read }: Extract<ImageSource, { kind: "reply" }>,
  request: number,
  { rest }: SaveResult,
): Promise<OneImage[]> {
  const images = await read().catch((error: unknown) => {
    if (error instanceof ProviderError) throw new BadImageError(toClause(error.message));
    throw new DownloadFailedError(`the stored reply cannot be read: ${errorText(error)}`);
  });
  const usableImages = images.filter(isUsable);
  const imagesToSave = (usableImages.length > 0 ? usableImages : images.slice(0, 1)).slice(
    0,
    MAX_SAVED_IMAGES,
  );
  if (imagesToSave.length === 0) throw new BadImageError("it contains no image");
  const count = images.length - imagesToSave.length;
  if (count > 0) rest.push({ request, count });
  return imagesToSave.map((image) => ({ kind: "made", ...image }));
}

function isUsable({ image }: SeededImage): boolean {
  if (image.kind === "url") return true;
  if (image.kind === "file" && image.isExtra) return false;
  try {
    const inspection = image.kind === "file" ? inspectFile(image.file) : inspectBytes(image.bytes);
    return inspection.ok || inspection.file?.type === "other";
  } catch {
    // A file that cannot be read is reported when it is saved.
    return true;
  }
}

export async function sweepLeftovers(
  { destination, claimedTaskId }: Pick<SaveSpec, "destination" | "claimedTaskId">,
  { ledger, clock }: TaskDeps,
): Promise<void> {
  const folder = destination.kind === "file" ? path.dirname(destination.path) : destination.folder;
  // The ledger's folder is included, because images for standard output are staged in it.
  for (const parent of [folder, ledger.folder]) await sweepTemporaryFiles(parent, claimedTaskId, clock.now());
  sweepReservations(folder, ledger.processes);
}

function toSavedFile(
  { url, image, bytes, sha256, originalSha256 }: DownloadedImage,
  file: string | null,
  seed: WholeNumber | null,
  { connection }: Pick<TaskDeps, "connection">,
): SavedFile {
  const { mediaType, width, height } = image;
  const original = originalSha256 !== undefined && { originalSha256 };
  return {
    path: file,
    url: url === null ? null : connection.maskUrl(url),
    mediaType,
    bytes,
    sha256,
    width,
    height,
    ...original,
    ...(seed !== null && { seed }),
  };
}

/** Returns the folder for a temporary file: the folder of the final file, because both must be on one file system. */
function stagingFolder(destination: Destination, index: number, deps: TaskDeps): string {
  if (destination.kind === "file") return path.dirname(destination.path);
  if (destination.kind === "stdout" && index === 1) return deps.ledger.folder;
  return destination.folder;
}
