import type { Clock } from "../lib/clock.ts";
import { Slots } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible } from "../lib/durable.ts";
import { type FileInfo, inspectImage } from "../lib/image/inspect.ts";
import { type DownloadOptions, type DownloadReply, download } from "./download.ts";
import { FileSink } from "./file-sink.ts";
import { backoffMs, type RetryRule } from "./retry.ts";
import type { ByteSink } from "./transport.ts";

/** A file, synced: a whole image, or a file of another type, which is not checked. */
export interface WrittenFile {
  image: FileInfo;
  bytes: number;
  /** Hex digits. */
  sha256: string;
}

/** `why` is a phrase: "not an image: an SVG document". */
type ImageFile = WrittenFile & ({ outcome: "whole" } | { outcome: "other"; why: string });

type BadImage = { outcome: "bad"; why: string };

/**
 * `why` is a phrase; `url` is the last one that was tried. `isMissing`: the server says that it is gone. `isFinal`: no later
 * attempt would find it, because another URL was asked for, or cannot be.
 */
export type ImageDownload =
  | (ImageFile & { url: string })
  | { outcome: "failed"; why: string; url: string; isMissing?: boolean; isFinal?: boolean }
  | { outcome: "disk_error"; cause: unknown };

export interface ImageDownloadOptions extends DownloadOptions {
  clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  signal: AbortSignal;
  retry: RetryRule;
  /** Longest Retry-After that is waited for, in milliseconds. */
  maxRetryAfterMs: number;
  random?: () => number;
  /** Permissions of the whole file. Default: for its owner alone, as before it is whole. */
  fileMode?: number;
  /** Asks once for another URL in place of one that is gone; null if there is none. */
  freshUrl?: () => Promise<string | null>;
  onBytes?: (bytes: number) => void;
  onRetry?: (why: string, delayMs: number) => void;
}

/**
 * Maximum number of concurrent downloads of this process. What has arrived and is not written yet waits in memory, so this
 * limits that too: 16 times the largest file of 100 MiB, if the disk takes nothing.
 */
const MAX_DOWNLOADS = 16;
const downloads = new Slots(MAX_DOWNLOADS);

/**
 * Downloads an image into a new file and checks it, with retries: the one loop for result images and reference images. The
 * file stays only if the image is whole.
 * @throws the signal's reason, or what `freshUrl` throws
 */
export async function downloadImageFile(
  firstUrl: string,
  file: string,
  options: ImageDownloadOptions,
): Promise<ImageDownload> {
  const { clock, signal, retry, random } = options;
  let url = firstUrl;
  let { freshUrl } = options;
  let otherSha256: string | null = null;
  for (let failures = 0; ; ) {
    signal.throwIfAborted();
    const attempt = await downloads
      .run(() => attemptDownload(url, file, options))
      .catch((cause: unknown) => ({ outcome: "disk_error", cause }) as const);
    // A page that a proxy has sent in place of the image would not come twice.
    const isFile = attempt.outcome === "other" && attempt.sha256 === otherSha256;
    if (attempt.outcome === "whole" || isFile) return { ...attempt, url };
    if (attempt.outcome === "other") removeIfPossible(file);
    otherSha256 = attempt.outcome === "other" ? attempt.sha256 : null;
    signal.throwIfAborted();
    if (attempt.outcome === "disk_error") return attempt;
    const failed = (why: string) => ({ outcome: "failed", why, url }) as const;
    if (attempt.outcome === "forbidden") return failed(attempt.why);
    if (attempt.outcome === "gone") {
      const isFinal = freshUrl === undefined;
      const fresh = await freshUrl?.();
      if (fresh === undefined || fresh === null)
        return { ...failed(attempt.why), isMissing: attempt.isMissing === true, isFinal };
      freshUrl = undefined;
      url = fresh;
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

/** @throws the disk's error */
function attemptDownload(
  url: string,
  file: string,
  options: ImageDownloadOptions,
): Promise<ImageFile | BadImage | Exclude<DownloadReply, { outcome: "done" }>> {
  return writeImageFile(file, options.fileMode, async (sink) => {
    const reply = await download(url, reporting(sink, options.onBytes), options);
    return reply.outcome === "done" ? null : reply;
  });
}

/**
 * Writes an image into a new file, and checks it: its type comes from its bytes, which must be complete. The file is for its
 * owner alone until then, and is removed if it is no whole image and no file of another type.
 * @param write writes the bytes. @returns why there is no image, else null
 * @throws the disk's error, or what `write` throws
 */
export async function writeImageFile<Failure extends { outcome: string }>(
  path: string,
  mode: number | undefined,
  write: (sink: ByteSink) => Promise<Failure | null>,
): Promise<ImageFile | BadImage | Failure> {
  const file = await DiskFile.createInBackground(path, 0o600);
  let result: ImageFile | BadImage | Failure | null = null;
  try {
    result = await writeAndInspect(file, mode, write).finally(() => file.close());
    return result;
  } finally {
    if (result?.outcome !== "whole" && result?.outcome !== "other") removeIfPossible(path);
  }
}

async function writeAndInspect<Failure>(
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
    const facts = { image, bytes: sink.bytes, sha256 };
    return why === null ? { outcome: "whole", ...facts } : { outcome: "other", why, ...facts };
  } finally {
    await sink.abandon();
  }
}

const PROBLEMS = { "not an image": "not an image", incomplete: "the image is incomplete" } as const;

const BYTES_BETWEEN_EVENTS = 256 * 1024;

function reporting(sink: ByteSink, onBytes: ImageDownloadOptions["onBytes"]): ByteSink {
  let bytes = 0;
  return {
    write(chunk) {
      sink.write(chunk);
      const step = Math.floor(bytes / BYTES_BETWEEN_EVENTS);
      bytes += chunk.length;
      if (Math.floor(bytes / BYTES_BETWEEN_EVENTS) > step) onBytes?.(bytes);
    },
  };
}
