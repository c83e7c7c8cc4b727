import { createReadStream } from "node:fs";
import { type DownloadReply, download } from "../../api/download.ts";
import { backoffMs, DOWNLOAD } from "../../api/retry.ts";
import type { ByteSink } from "../../api/transport.ts";
import { Slots } from "../../lib/concurrency.ts";
import { DiskFile } from "../../lib/disk-file.ts";
import { removeIfPossible } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { type ImageInfo, inspectImage } from "../../lib/image/inspect.ts";
import { withoutQuery } from "../../lib/redact.ts";
import { shortened } from "../../lib/short-text.ts";
import type { MadeImage } from "../../providers/provider.ts";
import type { TaskDeps } from "../deps.ts";
import { BadImageError, DownloadFailedError, SaveFailedError } from "../errors.ts";
import { FileSink } from "./file-sink.ts";
import type { ImageSource } from "./image-source.ts";

/** A complete, checked image in a temporary file, synced and ready to be published. */
export interface DownloadedImage {
  temporary: string;
  /** null where its provider has sent the image itself. */
  url: string | null;
  image: ImageInfo;
  bytes: number;
  sha256: string;
  /** Digest of the bytes that were downloaded, where they have been converted since. */
  originalSha256?: string;
}

/** An image at a URL, and the id of its task. */
interface RemoteImage extends Omit<Extract<ImageSource, { kind: "url" }>, "kind"> {
  taskId: string;
}

type FetchDeps = Pick<
  TaskDeps,
  "connection" | "clock" | "signal" | "onProgress" | "random" | "fileMode" | "downloadIdleMs"
>;

/** The longest Retry-After that a download honours. */
const MOST_PATIENCE_MS = 120_000;
const BYTES_BETWEEN_EVENTS = 256 * 1024;

/**
 * How many files this process downloads at once. What has arrived and is not written yet waits in memory, so this bounds
 * that too: 16 times the largest file of 100 MiB, if the disk takes nothing.
 */
const DOWNLOADS_AT_ONCE = 16;
const downloads = new Slots(DOWNLOADS_AT_ONCE);

/**
 * Downloads one result to `temporary`, a name that no other process uses, and checks it: the type comes from the bytes,
 * which must be complete. Up to 6 attempts; for a URL that is gone, a new one is polled for once.
 * @throws DownloadFailedError; SaveFailedError for a disk error; or the signal's reason. The task stays resumable
 */
export async function downloadImage(
  source: RemoteImage,
  temporary: string,
  deps: FetchDeps,
): Promise<DownloadedImage> {
  let { url } = source;
  let refreshed = false;
  for (let failures = 0; ; ) {
    deps.signal.throwIfAborted();
    const attempt = await downloads.run(() => cleanAttempt({ ...source, url }, temporary, deps));
    if ("image" in attempt) return attempt;
    deps.signal.throwIfAborted();
    if (attempt.outcome === "forbidden") throw notSaved(attempt.why, url, deps);
    if (attempt.outcome === "gone") {
      const fresh = refreshed ? null : await source.freshUrl();
      if (fresh === null) throw notSaved(attempt.why, url, deps);
      refreshed = true;
      url = fresh;
      continue;
    }
    failures += 1;
    if (failures >= DOWNLOAD.attempts) throw notSaved(`${attempt.why}, ${failures} times`, url, deps);
    const delayMs = backoffMs(DOWNLOAD, failures, attempt.retryAfterMs, deps.random);
    if (delayMs > MOST_PATIENCE_MS) throw notSaved(`${attempt.why}, try again later`, url, deps);
    deps.onProgress({ type: "download_retry", taskId: source.taskId, why: attempt.why, delayMs });
    await deps.clock.sleep(delayMs, deps.signal);
  }
}

/** As much of a URL as a message shows: a `data:` URL is as long as its image. */
const LONGEST_URL = 200;

function notSaved(
  why: string,
  url: string,
  { connection }: Pick<FetchDeps, "connection">,
): DownloadFailedError {
  const shown = shortened(connection.maskUrl(withoutQuery(url)), LONGEST_URL);
  return new DownloadFailedError(`${why} (${shown})`);
}

type Attempt = DownloadedImage | Exclude<DownloadReply, { outcome: "done" }>;

/** One attempt. It leaves a file behind only if the image is complete. */
async function cleanAttempt(source: RemoteImage, temporary: string, deps: FetchDeps): Promise<Attempt> {
  let attempt: Attempt | null = null;
  try {
    attempt = await attemptFetch(source, temporary, deps);
    return attempt;
  } finally {
    if (attempt === null || !("image" in attempt)) removeIfPossible(temporary);
  }
}

async function attemptFetch(
  { url, taskId, headers }: RemoteImage,
  temporary: string,
  deps: FetchDeps,
): Promise<Attempt> {
  const file = await onDisk(temporary, () => DiskFile.createInBackground(temporary, 0o600));
  const sink = new FileSink(file);
  try {
    const onBytes = (bytes: number) => deps.onProgress({ type: "downloaded", taskId, bytes });
    const reply = await download(url, reporting(sink, onBytes), {
      http: deps.connection.downloads,
      clock: deps.clock,
      serviceUrl: deps.connection.serviceUrl,
      maskKey: deps.connection.generator ? asItIs : deps.connection.maskKey,
      headers,
      idleTimeoutMs: deps.downloadIdleMs,
      signal: deps.signal,
    });
    if (sink.failure) throw diskFailure(temporary, sink.failure);
    if (reply.outcome !== "done") return reply;
    const sha256 = await onDisk(temporary, () => sink.finish());
    return await check(file, { temporary, url, bytes: sink.bytes, sha256 }, deps.fileMode);
  } finally {
    await sink.abandon();
    await onDisk(temporary, () => file.close());
  }
}

/** What a generator of the user's own names is its own, and a word of it may be a part of a header's value. */
const asItIs = (url: string) => url;

/**
 * Writes an image that its provider has sent to `temporary`, a name that no other process uses, and checks it.
 * @throws BadImageError if it is no whole image of a known type; SaveFailedError for a disk error
 */
export async function writeImage(
  image: Exclude<MadeImage, { kind: "url" }>,
  temporary: string,
  { fileMode }: Pick<TaskDeps, "fileMode">,
): Promise<DownloadedImage> {
  const file = await onDisk(temporary, () => DiskFile.createInBackground(temporary, 0o600));
  const sink = new FileSink(file);
  let isWhole = false;
  try {
    await onDisk(temporary, async () => {
      if (image.kind === "bytes") sink.write(image.bytes);
      else for await (const chunk of createReadStream(image.file)) sink.write(chunk);
    });
    const sha256 = await onDisk(temporary, () => sink.finish());
    const checked = await check(file, { temporary, url: null, bytes: sink.bytes, sha256 }, fileMode);
    if (!("image" in checked)) throw new BadImageError(checked.why);
    isWhole = true;
    return checked;
  } finally {
    await sink.abandon();
    await onDisk(temporary, () => file.close());
    if (!isWhole) removeIfPossible(temporary);
  }
}

function reporting(sink: ByteSink, onBytes: (bytes: number) => void): ByteSink {
  let bytes = 0;
  return {
    write(chunk) {
      sink.write(chunk);
      const step = Math.floor(bytes / BYTES_BETWEEN_EVENTS);
      bytes += chunk.length;
      if (Math.floor(bytes / BYTES_BETWEEN_EVENTS) > step) onBytes(bytes);
    },
  };
}

async function check(
  file: DiskFile,
  fetched: Omit<DownloadedImage, "image">,
  fileMode: number,
): Promise<Attempt> {
  const inspection = await onDisk(fetched.temporary, () => inspectImage(file));
  if (!inspection.ok) {
    const what = inspection.problem === "incomplete" ? "the image is incomplete" : inspection.problem;
    return { outcome: "retry", why: `${what}: ${inspection.detail}`, retryAfterMs: null };
  }
  await onDisk(fetched.temporary, () => file.setMode(fileMode));
  return { ...fetched, image: inspection.image };
}

async function onDisk<Result>(file: string, action: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    throw diskFailure(file, error);
  }
}

/** A disk error: the charged image is still at the service. */
export function diskFailure(file: string, cause: unknown): SaveFailedError {
  return new SaveFailedError(`The image could not be written to ${file}: ${errorText(cause)}.`, {
    charged: "yes",
    cause,
  });
}
