import { createReadStream } from "node:fs";
import { downloadImageFile, type WrittenFile, writeImageFile } from "../../api/image-download.ts";
import { removeIfPossible } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { redactUrl } from "../../lib/redact.ts";
import { truncate } from "../../lib/short-text.ts";
import type { MadeImage } from "../../providers/provider.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { BadImageError, DownloadFailedError, SaveFailedError } from "../errors.ts";
import { POLICY } from "../limits/policy.ts";
import type { UrlImage } from "./image-source.ts";

/** A complete, checked image in a temporary file, synced and ready to be published. */
export interface DownloadedImage extends WrittenFile {
  temporary: string;
  /** null if the image was not downloaded from a URL. */
  url: string | null;
  /** Digest of the downloaded bytes; absent if they were not converted. */
  originalSha256?: string;
}

interface RemoteImage extends Pick<UrlImage, "url" | "headers"> {
  taskId: string;
  /** Polls for a new URL; null if the provider cannot return a new URL. */
  freshUrl: (() => Promise<string | null>) | null;
}

type FetchDeps = Pick<
  TaskDeps,
  "connection" | "clock" | "signal" | "onProgress" | "random" | "fileMode" | "downloadIdleMs"
>;

/** Maximum length of a URL in a message, because a `data:` URL contains its image. */
const MAX_URL_LENGTH = 200;

/**
 * Downloads an image to `temporary`, a name that no other process uses, and checks it. Makes up to 6 attempts, and
 * polls once for a new URL.
 * @throws DownloadFailedError; SaveFailedError for a disk error; or the signal's reason. The task can still be resumed
 */
export async function downloadImage(
  { url, headers, freshUrl, taskId }: RemoteImage,
  temporary: string,
  { connection, clock, signal, random, fileMode, downloadIdleMs, onProgress }: FetchDeps,
): Promise<DownloadedImage> {
  const result = await downloadImageFile(url, temporary, {
    http: connection.downloads,
    serviceUrl: connection.serviceUrl,
    // Nothing is masked for a generator, because the value of a header might occur in a URL by chance.
    maskKey: connection.generator ? (text) => text : connection.maskKey,
    headers,
    idleTimeoutMs: downloadIdleMs,
    retry: POLICY.download,
    maxRetryAfterMs: POLICY.download.maxRetryAfterMs,
    ...(freshUrl && { freshUrl }),
    fileMode,
    clock,
    signal,
    random,
    onBytes: (bytes) => onProgress({ type: "downloaded", taskId, bytes }),
    onRetry: (why, delayMs) => onProgress({ type: "download_retry", taskId, why, delayMs }),
  });
  if (result.outcome === "disk_error") throw diskFailure(temporary, result.cause);
  if (result.outcome === "failed") {
    const { isMissing = false, isFinal = false } = result;
    // URLs with headers are not signed, so they do not expire.
    const loss = headers === undefined ? "its URL has expired" : "the file no longer exists";
    const why = isMissing ? `${loss}, ${result.why}` : result.why;
    const shortUrl = truncate(connection.maskUrl(redactUrl(result.url)), MAX_URL_LENGTH);
    throw new DownloadFailedError(`${why} (${shortUrl})`, { isMissing, isFinal: isMissing && isFinal });
  }
  const { image, bytes, sha256 } = result;
  return { temporary, url: result.url, image, bytes, sha256 };
}

/**
 * Writes an image from a provider's reply into `temporary`, a name that no other process uses, and checks the image.
 * @throws BadImageError if the image is incomplete or of an unknown type; SaveFailedError for a disk error
 */
export async function writeImage(
  source: Exclude<MadeImage, { kind: "url" }>,
  temporary: string,
  { fileMode }: Pick<TaskDeps, "fileMode">,
): Promise<DownloadedImage> {
  const result = await writeImageFile<never>(temporary, fileMode, async (sink) => {
    if (source.kind === "bytes") sink.write(source.bytes);
    else for await (const chunk of createReadStream(source.file)) sink.write(chunk);
    return null;
  }).catch((error: unknown) => {
    throw diskFailure(temporary, error);
  });
  // Bytes of an unknown type are probably text that the provider sent instead of an image in base64.
  const isText = result.outcome === "other" && result.image.type === "unrecognised";
  if (isText) removeIfPossible(temporary);
  if (result.outcome === "bad" || isText) throw new BadImageError(result.why);
  const { image, bytes, sha256 } = result;
  return { temporary, url: null, image, bytes, sha256 };
}

export function diskFailure(file: string, cause: unknown): SaveFailedError {
  return new SaveFailedError(`The image could not be written to ${file}: ${errorText(cause)}.`, {
    charged: "yes",
    cause,
  });
}
