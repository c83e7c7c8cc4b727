import type { Clock } from "../lib/clock.ts";
import { Slots } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible } from "../lib/durable.ts";
import { type FileInfo, inspectImage } from "../lib/image/inspect.ts";
import { type DownloadOptions, type DownloadReply, download } from "./download.ts";
import { FileSink } from "./file-sink.ts";
import { backoffMs, type RetryRule } from "./retry.ts";
import type { ByteSink } from "./transport.ts";

/** A file synced to disk: a complete image, or an unchecked file of another type. */
export interface WrittenFile {
  image: FileInfo;
  bytes: number;
  /** In hex. */
  sha256: string;
}

/** `other` means a file of another type. `why` is a phrase, such as "not an image: an SVG document". */
type ImageFile = WrittenFile & ({ outcome: "whole" } | { outcome: "other"; why: string });

type BadImage = { outcome: "bad"; why: string };

/** `url` is the last URL tried. `isMissing`: the server returned 403, 404 or 410. `isFinal`: a retry would fail too. */
export type ImageDownload =
  | (ImageFile & { url: string })
  | { outcome: "failed"; why: string; url: string; isMissing?: boolean; isFinal?: boolean }
  | { outcome: "disk_error"; cause: unknown };

export interface ImageDownloadOptions extends DownloadOptions {
  clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  signal: AbortSignal;
  retry: RetryRule;
  /** Maximum wait before a retry. A longer Retry-After ends the download. */
  maxRetryAfterMs: number;
  random?: () => number;
  /** Permissions of the complete file. Default: 0o600, as during the download. */
  fileMode?: number;
  /** Returns a new URL after the first has stopped working, or null. Called at most once. */
  freshUrl?: () => Promise<string | null>;
  onBytes?: (bytes: number) => void;
  onRetry?: (why: string, delayMs: number) => void;
}

/** Maximum number of concurrent downloads. Unwritten data then needs at most 16 times 100 MiB of memory. */
const MAX_DOWNLOADS = 16;
const downloads = new Slots(MAX_DOWNLOADS);

/**
 * Downloads an image into a new file, with retries, and checks it. Removes the file if the last attempt fails.
 * @throws the signal's reason, or an error of `freshUrl`
 */
export async function downloadImageFile(
  firstUrl: string,
  file: string,
  options: ImageDownloadOptions,
): Promise<ImageDownload> {
  const { clock, signal, retry, random } = options;
  let url = firstUrl;
  let { freshUrl } = options;
  let nonImageSha256: string | null = null;
  for (let failures = 0; ; ) {
    signal.throwIfAborted();
    const attempt = await downloads
      .run(() => attemptDownload(url, file, options))
      .catch((cause: unknown) => ({ outcome: "disk_error", cause }) as const);
    // A proxy might send an error page once, so a file of another type must arrive twice in a row to be accepted.
    const isSameFile = attempt.outcome === "other" && attempt.sha256 === nonImageSha256;
    if (attempt.outcome === "whole" || isSameFile) return { ...attempt, url };
    if (attempt.outcome === "other") removeIfPossible(file);
    nonImageSha256 = attempt.outcome === "other" ? attempt.sha256 : null;
    signal.throwIfAborted();
    if (attempt.outcome === "disk_error") return attempt;
    const failed = (why: string) => ({ outcome: "failed", why, url }) as const;
    if (attempt.outcome === "forbidden") return failed(attempt.why);
    if (attempt.outcome === "gone") {
      const isFinal = freshUrl === undefined;
      const newUrl = await freshUrl?.();
      if (newUrl === undefined || newUrl === null)
        return { ...failed(attempt.why), isMissing: attempt.isMissing === true, isFinal };
      freshUrl = undefined;
      url = newUrl;
      continue;
    }
    failures += 1;
    if (failures >= retry.attempts) return failed(`${attempt.why}, ${failures} times`);
    const retryAfterMs = attempt.outcome === "retry" ? attempt.retryAfterMs : null;
    const delayMs = backoffMs(retry, failures, retryAfterMs, random);
    if (delayMs > options.maxRetryAfterMs) return failed(`${attempt.why}, try again later`);
    options.onRetry?.(attempt.why, delayMs);
    await clock.sleep(delayMs, signal);
  }
}

/** @throws the file system's error */
function attemptDownload(
  url: string,
  file: string,
  options: ImageDownloadOptions,
): Promise<ImageFile | BadImage | Exclude<DownloadReply, { outcome: "done" }>> {
  return writeImageFile(file, options.fileMode, async (sink) => {
    const reply = await download(url, withProgress(sink, options.onBytes), options);
    return reply.outcome === "done" ? null : reply;
  });
}

/**
 * Writes an image into a new file, which only the owner can read until the image is checked. Removes the file if the
 * write fails or the image is incomplete, but not if the file has another type.
 * @param write writes the bytes; returns the failure, or null
 * @throws the file system's error, or an error of `write`
 */
export async function writeImageFile<Failure extends { outcome: string }>(
  path: string,
  mode: number | undefined,
  write: (sink: ByteSink) => Promise<Failure | null>,
): Promise<ImageFile | BadImage | Failure> {
  const file = await DiskFile.createInBackground(path, 0o600);
  let result: ImageFile | BadImage | Failure | null = null;
  try {
    result = await writeImage(file, mode, write).finally(() => file.close());
    return result;
  } finally {
    if (result?.outcome !== "whole" && result?.outcome !== "other") removeIfPossible(path);
  }
}

async function writeImage<Failure>(
  file: DiskFile,
  mode: number | undefined,
  write: (sink: ByteSink) => Promise<Failure | null>,
): Promise<ImageFile | BadImage | Failure> {
  const sink = new FileSink(file);
  try {
    const failure = await write(sink);
    if (sink.failure) throw sink.failure;
    if (failure !== null) return failure;
    const sha256 = await sink.finish();
    const inspection = inspectImage(file);
    const image = inspection.ok ? inspection.image : inspection.file;
    const why = inspection.ok ? null : `${PROBLEMS[inspection.problem]}: ${inspection.detail}`;
    if (image === undefined) return { outcome: "bad", why: why ?? "" };
    if (mode !== undefined) await file.setMode(mode);
    const download = { image, bytes: sink.bytes, sha256 };
    return why === null ? { outcome: "whole", ...download } : { outcome: "other", why, ...download };
  } finally {
    await sink.abandon();
  }
}

const PROBLEMS = { "not an image": "not an image", incomplete: "the image is incomplete" } as const;

const EVENT_INTERVAL_BYTES = 256 * 1024;

function withProgress(sink: ByteSink, onBytes: ImageDownloadOptions["onBytes"]): ByteSink {
  let bytes = 0;
  return {
    write(chunk) {
      sink.write(chunk);
      const step = Math.floor(bytes / EVENT_INTERVAL_BYTES);
      bytes += chunk.length;
      if (Math.floor(bytes / EVENT_INTERVAL_BYTES) > step) onBytes?.(bytes);
    },
  };
}
