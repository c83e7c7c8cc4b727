import type { Clock } from "../lib/clock.ts";
import { errorCode } from "../lib/error-text.ts";
import { BlockedAddressError, looksPublic } from "./address.ts";
import { connectionErrorText } from "./connection-errors.ts";
import { decodeBody, isEncoded } from "./decode.ts";
import type { HttpClient } from "./http-client.ts";
import { isRetryable, TRANSFER_POLICY } from "./retry.ts";
import { statedWaitMs } from "./stated-wait.ts";
import { type ByteSink, type ReplyHeaders, TransportError } from "./transport.ts";

/** Result of one attempt to download. */
export type DownloadReply =
  | { outcome: "done" }
  | { outcome: "retry"; why: string; retryAfterMs: number | null }
  /** This URL no longer works; a new one may. `isMissing`: its server says that there is no such file, or not for us. */
  | { outcome: "gone"; why: string; isMissing?: true }
  /** This URL must not be downloaded from. */
  | { outcome: "forbidden"; why: string };

export interface DownloadOptions {
  http: HttpClient;
  clock: Pick<Clock, "now" | "monotonicMs">;
  /** The service that returned the URL, which decides what URLs are allowed. */
  serviceUrl: URL;
  /** Masks the API key in a URL: no host but the service may see it, even if a redirect contains it. */
  maskKey: (text: string) => string;
  /** Headers for the service's own origin alone, and never along a redirect. Default: none. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** No byte for this long ends the attempt. Default 30 s. */
  idleTimeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const { idleMs: IDLE_TIMEOUT_MS, timeoutMs: TIMEOUT_MS } = TRANSFER_POLICY.download;
/** A download that is slower than this over a whole period has failed: 1 KiB/s. */
const PERIOD_MS = 60_000;
const MIN_BYTES_PER_PERIOD = 60 * 1024;
const MAX_REDIRECTS = 5;
const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** Downloads from a result URL once, following redirects, never with an Authorization header of its own. Never throws. */
export async function download(
  url: string,
  sink: ByteSink,
  options: DownloadOptions,
): Promise<DownloadReply> {
  let target = url;
  const startMs = options.clock.monotonicMs();
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const checked = await checkResultUrl(options.maskKey(target), options.serviceUrl);
    if (typeof checked === "string") return { outcome: "forbidden", why: checked };
    const isOwn = hop === 0 && checked.origin === options.serviceUrl.origin;
    const reply = await fetchOnce(checked, isOwn ? options.headers : {}, sink, startMs, options);
    if (typeof reply !== "string") return reply;
    target = reply;
  }
  return { outcome: "gone", why: `more than ${MAX_REDIRECTS} redirects` };
}

/** The parsed URL, or why it must not be downloaded from. */
export async function checkResultUrl(text: string, serviceUrl: URL): Promise<URL | string> {
  if (!URL.canParse(text)) return "the result URL is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return `a ${url.protocol} URL is not downloaded`;
  if (url.protocol === "http:" && serviceUrl.protocol === "https:") {
    return "an http: URL from an https: service is not downloaded";
  }
  if (url.username !== "" || url.password !== "") return "a URL with a user name in it is not downloaded";
  if ((await looksPublic(serviceUrl.hostname)) && !(await looksPublic(url.hostname))) {
    return `${url.hostname} is not a public address`;
  }
  return url;
}

/** One hop: its outcome, or the URL it redirects to. */
async function fetchOnce(
  url: URL,
  originHeaders: DownloadOptions["headers"],
  sink: ByteSink,
  startMs: number,
  options: DownloadOptions,
): Promise<DownloadReply | string> {
  const speed = new MinimumSpeed(startMs, options.clock);
  const head: { status: number; headers: ReplyHeaders } = { status: 0, headers: {} };
  /** The bytes of a file that comes compressed, although no encoding is asked for. */
  const packed: Buffer[] = [];
  let size = 0;
  try {
    await options.http.send(
      {
        method: "GET",
        url,
        headers: { ...originHeaders, accept: "image/*", "accept-encoding": "identity" },
        idleTimeoutMs: Math.min(options.idleTimeoutMs ?? IDLE_TIMEOUT_MS, TIMEOUT_MS),
        signal: options.signal,
      },
      {
        onHead(status, headers) {
          Object.assign(head, { status, headers });
          // Only the body of a successful reply is the file.
          if (status < 200 || status >= 300) throw NOT_THE_FILE;
          speed.begin();
        },
        onData(chunk) {
          size += chunk.length;
          if (size > MAX_FILE_BYTES) throw TOO_LARGE;
          speed.check(chunk.length);
          if (isEncoded(head.headers["content-encoding"])) packed.push(chunk);
          else sink.write(chunk);
        },
      },
    );
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.cause === TOO_LARGE) return TOO_LARGE_A_FILE;
    if (error.cause !== NOT_THE_FILE) return brokenOff(error);
  }
  const failure = await unpack(packed, head.headers, sink);
  return failure ?? readHead(head.status, head.headers, url, options.clock.now());
}

/** Decompresses a file into its sink; does nothing if there is none. @returns why it failed */
async function unpack(
  packed: readonly Buffer[],
  headers: ReplyHeaders,
  sink: ByteSink,
): Promise<DownloadReply | null> {
  if (packed.length === 0) return null;
  const limits = { maxBytes: MAX_FILE_BYTES };
  try {
    sink.write(await decodeBody(Buffer.concat(packed), headers["content-encoding"], limits));
    return null;
  } catch (error) {
    if (errorCode(error) === "ERR_BUFFER_TOO_LARGE") return TOO_LARGE_A_FILE;
    return {
      outcome: "retry",
      why: `it could not be decompressed (${error instanceof Error ? error.message : error})`,
      retryAfterMs: null,
    };
  }
}

/**
 * The minimum speed of a download: one byte a second would never run into the idle timeout. It is checked whenever bytes
 * arrive, which needs no timer; if none arrive, the idle timeout ends the download.
 */
class MinimumSpeed {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #startMs: number;
  #periodMs = 0;
  #bytes = 0;

  constructor(startMs: number, clock: Pick<Clock, "monotonicMs">) {
    this.#startMs = startMs;
    this.#clock = clock;
  }

  begin(): void {
    this.#periodMs = this.#clock.monotonicMs();
    this.#bytes = 0;
  }

  /** @throws TOO_LONG, TOO_SLOW */
  check(bytes: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#bytes += bytes;
    if (nowMs - this.#startMs > TIMEOUT_MS) throw TOO_LONG;
    if (nowMs - this.#periodMs < PERIOD_MS) return;
    if (this.#bytes < MIN_BYTES_PER_PERIOD) throw TOO_SLOW;
    this.begin();
  }
}

const TOO_LONG = new Error("it took over 15 minutes");
const TOO_SLOW = new Error("less than 1 KiB/s arrived over 60 s");
const NOT_THE_FILE = new Error("not the file");
const TOO_LARGE = new Error("too large");
const TOO_LARGE_A_FILE: DownloadReply = { outcome: "forbidden", why: "the file is larger than 100 MiB" };

function brokenOff(error: TransportError): DownloadReply {
  const { cause } = error;
  const blocked = cause instanceof BlockedAddressError ? cause : undefined;
  const reason = [TOO_LONG, TOO_SLOW].find((each) => each === cause) ?? blocked;
  const why = reason?.message ?? connectionErrorText(error);
  return isRetryable(error) ? { outcome: "retry", why, retryAfterMs: null } : { outcome: "forbidden", why };
}

function readHead(status: number, headers: ReplyHeaders, url: URL, nowMs: number): DownloadReply | string {
  if (status >= 200 && status < 300) return { outcome: "done" };
  const { location } = headers;
  if (status >= 300 && status < 400 && typeof location === "string") {
    return URL.canParse(location, url.href) ? new URL(location, url).href : location;
  }
  if (isRetryable(status)) {
    const retryAfterMs = statedWaitMs({ headers }, nowMs);
    return { outcome: "retry", why: `HTTP ${status}`, retryAfterMs };
  }
  return { outcome: "gone", why: `HTTP ${status}`, ...(MISSING.has(status) && { isMissing: true }) };
}

/** Statuses of an expired signed URL, or of a deleted file. */
const MISSING: ReadonlySet<number> = new Set([403, 404, 410]);
