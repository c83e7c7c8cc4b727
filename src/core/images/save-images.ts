import { promises } from "node:fs";
import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { inspectBytes } from "../../lib/image/inspect.ts";
import { redactUrl } from "../../lib/redact.ts";
import { joinFirst } from "../../lib/short-text.ts";
import { toClause } from "../../providers/failures.ts";
import { ProviderError } from "../../providers/provider.ts";
import type { Destination } from "../../task/intent.ts";
import { fileIndex, MAX_IMAGES, type SavedFile } from "../../task/saved-file.ts";
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
  result.imageCounts = sources.map(() => 0);
  if (spec.recovering && spec.claimedTaskId !== null) await sweepLeftovers(spec, deps);
  const failures: DownloadFailedError[] = [];
  for (const request of sources.keys()) failures.push(...(await saveRequest(request, spec, result, deps)));
  const [first] = failures;
  if (!first) return;
  // A reply that could not be read counts as one image.
  const count = sources.reduce(
    (sum, { kind }, request) => sum + (result.imageCounts[request] || (kind === "saved" ? 0 : 1)),
    0,
  );
  throw count === 1 ? first : downloadsFailedError(failures, count);
}

/** Saves the images of one request. @returns the downloads that failed */
async function saveRequest(
  request: number,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<DownloadFailedError[]> {
  deps.signal.throwIfAborted();
  const { sources } = spec;
  const source = sources[request] as ImageSource;
  if (source.kind === "saved") {
    for (const [imageIndex, file] of source.files.entries())
      setFile(result, fileIndex(imageIndex, request, sources.length), file);
    // Without a reply, only the images before the first gap are expected.
    result.imageCounts[request] = [...source.files, null].indexOf(null);
    return [];
  }
  let images: readonly OneImage[];
  try {
    images =
      source.kind === "urls" ? limitImages(source, result, deps) : await readReply(source, request, result);
  } catch (error) {
    return toFailures(error, request, true, spec, result);
  }
  result.imageCounts[request] = images.length;
  // The list includes images that are not saved yet, so that the ledger shows that they are missing.
  setFile(result, fileIndex(images.length - 1, request, sources.length), null);
  const failures: DownloadFailedError[] = [];
  for (const [imageIndex, image] of images.entries()) {
    deps.signal.throwIfAborted();
    const at = fileIndex(imageIndex, request, sources.length);
    try {
      const existing = await findSaved(image, at, spec, deps);
      setFile(result, at, existing ?? (await saveImage(image, at, spec, result, deps)));
    } catch (error) {
      const isReplyUnusable = source.kind === "reply" && imageIndex === 0;
      failures.push(...(await toFailures(error, request, isReplyUnusable, spec, result)));
    }
  }
  // An image that another attempt might download is not gone.
  const [first] = failures;
  if (first && failures.every(({ isFinal }) => isFinal)) result.gone.push({ request, why: first.reason });
  return failures;
}

/**
 * Records an unusable reply in the result.
 * @param isReplyUnusable whether a `BadImageError` means that the reply is unusable
 * @returns the download that failed, if any
 * @throws any other error, such as a disk error
 */
async function toFailures(
  error: unknown,
  request: number,
  isReplyUnusable: boolean,
  spec: SaveSpec,
  result: SaveResult,
): Promise<DownloadFailedError[]> {
  if (error instanceof BadImageError && isReplyUnusable) {
    if (!(await restoreSavedFiles(request, spec, result))) result.bad.push({ request, why: error.message });
    return [];
  }
  const failure = error instanceof BadImageError ? new DownloadFailedError(error.message) : error;
  if (!(failure instanceof DownloadFailedError)) throw failure;
  return [failure];
}

function setFile({ files }: SaveResult, at: number, file: SavedFile | null): void {
  while (files.length <= at) files.push(null);
  files[at] = file;
}

/** Adds the complete saved files of a request whose reply has no image. @returns whether its first image is saved */
async function restoreSavedFiles(
  request: number,
  { savedFiles, sources }: SaveSpec,
  result: SaveResult,
): Promise<boolean> {
  for (let at = request; at < savedFiles.length; at += sources.length) {
    const file = savedFiles[at];
    if (file && (await isWhole(file))) setFile(result, at, file);
  }
  return result.files[request] !== null;
}

function limitImages(
  { images }: Extract<ImageSource, { kind: "urls" }>,
  { warnings }: SaveResult,
  { connection }: TaskDeps,
): readonly OneImage[] {
  if (images.length > MAX_IMAGES) {
    const surplus = images.slice(MAX_IMAGES).map(({ url }) => redactUrl(connection.maskUrl(url)));
    warnings.push(
      `The service returned ${images.length} images; the first ${MAX_IMAGES} were downloaded. ` +
        `Not downloaded: ${joinFirst(surplus, MAX_NAMED)}. All URLs are in the ledger.`,
    );
  }
  return images.slice(0, MAX_IMAGES);
}

function downloadsFailedError(failures: readonly DownloadFailedError[], images: number): SaveFailedError {
  const reasons = failures.map(({ reason }) => reason).join("; ");
  const message = `${failures.length} of ${images} images could not be downloaded: ${reasons}.`;
  const hint = failures.every((failure) => failure.hint !== null) ? failures[0]?.hint : undefined;
  return new SaveFailedError(message, { charged: "yes", cause: failures[0], hint: hint ?? undefined });
}

/** Finds the unchanged file of an earlier run. It is not downloaded again, because the URL might have expired. */
async function findSaved(
  source: OneImage,
  at: number,
  { savedFiles }: SaveSpec,
  { connection: { maskUrl } }: Pick<TaskDeps, "connection">,
): Promise<SavedFile | null> {
  const file = savedFiles[at];
  // URLs are compared without their queries, because a query can be a signature that changes with every poll.
  const toComparable = (url: string) => maskUrl(redactUrl(url));
  const isOtherImage = source.kind === "url" && toComparable(file?.url ?? "") !== toComparable(source.url);
  if (!file || isOtherImage) return null;
  return (await isWhole(file)) ? file : null;
}

async function saveImage(
  source: OneImage,
  at: number,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<SavedFile> {
  const index = at + 1;
  const folder = stagingFolder(spec.destination, index, deps);
  try {
    await makeFolder(folder, folder === deps.ledger.folder ? 0o700 : 0o777);
  } catch (error) {
    throw diskFailure(folder, error);
  }
  // The name is random, so that no other process writes to the file that this process publishes.
  const temporary = path.join(folder, temporaryName(spec.claimedTaskId));
  const copy = spec.copies[at] ? await copyImage(spec.copies[at], temporary, deps.fileMode) : null;
  const stagedImage = copy ?? (await stageImage(source, at, result.files.length, temporary, spec, deps));
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
  at: number,
  count: number,
  temporary: string,
  { taskId }: SaveSpec,
  deps: TaskDeps,
): Promise<DownloadedImage> {
  const image = source.kind === "url" ? source : source.image;
  if (image.kind !== "url") return writeImage(image, temporary, deps);
  deps.onProgress({ type: "downloading", taskId, index: at + 1, count });
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
  const usable = await Promise.all(images.map(isUsable));
  const usableImages = images.filter((_, at) => usable[at]);
  const imagesToSave = (usableImages.length > 0 ? usableImages : images.slice(0, 1)).slice(0, MAX_IMAGES);
  if (imagesToSave.length === 0) throw new BadImageError("it contains no image");
  const count = images.length - imagesToSave.length;
  if (count > 0) rest.push({ request, count });
  return imagesToSave.map((image) => ({ kind: "made", ...image }));
}

async function isUsable({ image }: SeededImage): Promise<boolean> {
  if (image.kind === "url") return true;
  if (image.kind === "file" && image.isExtra) return false;
  const bytes = image.kind === "file" ? await promises.readFile(image.file).catch(() => null) : image.bytes;
  // A file that cannot be read is reported when it is saved.
  if (bytes === null) return true;
  const inspection = inspectBytes(bytes);
  return inspection.ok || inspection.file?.type === "other";
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
