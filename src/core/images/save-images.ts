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
import type { SavedFile } from "../../task/saved-file.ts";
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

/** Maximum number of saved images per request. No model returns more than 15. */
export const MAX_IMAGES = 16;
const MAX_NAMED = 4;

/**
 * Saves every image of a task that can be downloaded. An aborted signal or a disk error is thrown at once.
 * @throws SaveFailedError, or the signal's reason; `result` contains the files saved before the error
 */
export async function saveImages(spec: SaveSpec, result: SaveResult, deps: TaskDeps): Promise<void> {
  const { maxImages } = spec;
  const sources = spec.sources.slice(0, maxImages);
  const surplus = spec.sources.slice(maxImages);
  if (surplus.length > 0) result.warnings.push(surplusWarning(surplus, maxImages, deps));
  result.files = sources.map(() => null);
  if (spec.recovering && spec.claimedTaskId !== null) await sweepLeftovers(spec, deps);
  const failures: DownloadFailedError[] = [];
  // `openReply` appends the additional images of a reply to `sources` during the loop.
  for (const [at, source] of sources.entries()) {
    deps.signal.throwIfAborted();
    result.files[at] = null;
    try {
      const image = source.kind === "here" ? await openReply(source, sources, spec, result) : source;
      if (image.kind === "none") result.files[at] = image.file;
      else {
        const existing = await findSaved(image, at, spec, deps);
        result.files[at] = existing ?? (await saveImage(image, at, { ...spec, sources }, result, deps));
      }
    } catch (error) {
      if (error instanceof BadImageError && source.kind === "here") {
        const savedFile = spec.savedFiles[at];
        if (savedFile && (await isWhole(savedFile))) result.files[at] = savedFile;
        else result.bad.push({ request: source.request, why: error.message });
      } else if (error instanceof BadImageError) failures.push(new DownloadFailedError(error.message));
      else if (error instanceof DownloadFailedError) {
        failures.push(error);
        if (error.isFinal && "request" in source && source.request !== undefined)
          result.gone.push({ request: source.request, why: error.reason });
      } else throw error;
    }
  }
  const [first] = failures;
  if (first) throw sources.length === 1 ? first : downloadsFailedError(failures, sources.length);
}

function surplusWarning(
  sources: readonly ImageSource[],
  maxImages: number,
  { connection }: Pick<TaskDeps, "connection">,
): string {
  const urls = sources.flatMap((source) => (source.kind === "url" ? [connection.maskUrl(source.url)] : []));
  return (
    `The service returned ${maxImages + urls.length} images; the first ${maxImages} were downloaded. ` +
    `Not downloaded: ${joinFirst(urls.map(redactUrl), MAX_NAMED)}. All URLs are in the ledger.`
  );
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
  const stagedImage = copy ?? (await stageImage(source, at, temporary, spec, deps));
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
  temporary: string,
  { taskId, sources }: SaveSpec,
  deps: TaskDeps,
): Promise<DownloadedImage> {
  const image = source.kind === "url" ? source : source.image;
  if (image.kind !== "url") return writeImage(image, temporary, deps);
  deps.onProgress({ type: "downloading", taskId, index: at + 1, count: sources.length });
  const freshUrl = source.kind === "url" ? source.freshUrl : null;
  return downloadImage({ ...image, taskId, freshUrl }, temporary, deps);
}

/**
 * Returns the first image of a stored reply. The others are appended to `sources`, so that indexes never change.
 * @throws BadImageError if the reply has no image; DownloadFailedError if the reply cannot be read
 */
async function openReply(
  { request, read }: Extract<ImageSource, { kind: "here" }>,
  sources: ImageSource[],
  { savesFurther }: SaveSpec,
  { rest }: SaveResult,
): Promise<OneImage> {
  const images = await read().catch((error: unknown) => {
    if (error instanceof ProviderError) throw new BadImageError(toClause(error.message));
    throw new DownloadFailedError(`the stored reply cannot be read: ${errorText(error)}`);
  });
  const [first = images[0], ...others] = images.length > 1 ? images.filter(isUsable) : images;
  if (first === undefined) throw new BadImageError("it contains no image");
  if (!savesFurther) return { kind: "made", ...first };
  const further = others.slice(0, MAX_IMAGES - 1);
  sources.push(...further.map((other) => ({ kind: "made", ...other }) as const));
  const count = images.length - 1 - further.length;
  if (count > 0) rest.push({ request, count });
  return { kind: "made", ...first };
}

function isUsable({ image }: SeededImage): boolean {
  if (image.kind === "file") return image.isExtra !== true;
  if (image.kind === "url") return true;
  const inspection = inspectBytes(image.bytes);
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
