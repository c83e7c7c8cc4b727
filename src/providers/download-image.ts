import { type DownloadOptions, type DownloadReply, download } from "../api/download.ts";
import { backoffMs, DOWNLOAD } from "../api/retry.ts";
import type { Clock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPresent } from "../lib/durable.ts";

interface DownloadDeps extends DownloadOptions {
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Downloads an image by the rules of result URLs, in up to 6 attempts.
 * @param url relative ones are relative to the server
 * @returns null, or why it failed. @throws the signal's reason, or the disk's error
 */
export async function downloadImage(url: string, file: string, deps: DownloadDeps): Promise<string | null> {
  const { href } = deps.serviceUrl;
  const target = URL.canParse(url, href) ? new URL(url, href).href : url;
  for (let failures = 1; ; failures++) {
    const reply = await downloadOnce(target, file, deps);
    deps.signal.throwIfAborted();
    if (reply.outcome === "done") return null;
    if (reply.outcome !== "retry" || failures >= DOWNLOAD.attempts) return reply.why;
    await deps.clock.sleep(backoffMs(DOWNLOAD, failures, reply.retryAfterMs), deps.signal);
  }
}

async function downloadOnce(url: string, file: string, deps: DownloadDeps): Promise<DownloadReply> {
  removeIfPresent(file);
  const created = DiskFile.createExclusive(file, 0o600);
  try {
    return await download(url, { write: (chunk) => created.write(chunk) }, deps);
  } finally {
    created.close();
  }
}
