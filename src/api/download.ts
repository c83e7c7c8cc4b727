import type { Clock } from "../lib/clock.ts";
import { errorCode } from "../lib/error-text.ts";
import { BlockedAddressError, looksPublic } from "./address.ts";
import { connectionErrorText } from "./connection-errors.ts";
import { decodeBody, isEncoded } from "./decode.ts";
import type { HttpClient } from "./http-client.ts";
import { isRetryable, TRANSFER_POLICY } from "./retry.ts";
import { statedWaitMs } from "./stated-wait.ts";
import { type ByteSink, type ReplyHeaders, TransportError } from "./transport.ts";

export type DownloadReply =
  | { outcome: "done" }
  | { outcome: "retry"; why: string; retryAfterMs: number | null }
  /** This URL does not work, but a new URL might. `isMissing`: the server returned 403, 404 or 410. */
  | { outcome: "gone"; why: string; isMissing?: true }
  /** Another attempt is not allowed. */
  | { outcome: "forbidden"; why: string };

export interface DownloadOptions {
  http: HttpClient;
  clock: Pick<Clock, "now" | "monotonicMs">;
  /** Base URL of the service. A result URL must be public if this URL is, and use https: if this URL does. */
  serviceUrl: URL;
  /** Masks the API key in a URL, because a redirect can contain the key, and other hosts must not receive it. */
  maskKey: (text: string) => string;
  /** Headers that are sent only to the service's origin, and not after a redirect. Default: none. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Maximum time without a received byte. Default: 30 s. */
  idleTimeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const { idleMs: IDLE_TIMEOUT_MS, timeoutMs: TIMEOUT_MS } = TRANSFER_POLICY.download;
/** A download is too slow if fewer bytes than `MIN_BYTES_PER_PERIOD` arrive in a period (1 KiB/s). */
const PERIOD_MS = 60_000;
const MIN_BYTES_PER_PERIOD = 60 * 1024;
const MAX_REDIRECTS = 5;
const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** Downloads a result URL in one attempt, following redirects. Connection errors are returned, not thrown. */
export async function download(
  url: string,
  sink: ByteSink,
  options: DownloadOptions,
): Promise<DownloadReply> {
  let target = url;
  const startMs = options.clock.monotonicMs();
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const checkedUrl = await checkResultUrl(options.maskKey(target), options.serviceUrl);
    if (typeof checkedUrl === "string") return { outcome: "forbidden", why: checkedUrl };
    const isServiceOrigin = hop === 0 && checkedUrl.origin === options.serviceUrl.origin;
    const reply = await requestOnce(
      checkedUrl,
      isServiceOrigin ? options.headers : {},
      sink,
      startMs,
      options,
    );
    if (typeof reply !== "string") return reply;
    target = reply;
  }
  return { outcome: "gone", why: `more than ${MAX_REDIRECTS} redirects` };
}

/** Returns the parsed URL, or the reason for refusing it. */
export async function checkResultUrl(text: string, serviceUrl: URL): Promise<URL | string> {
  if (!URL.canParse(text)) return "the result URL is invalid";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return `${url.protocol} URLs are not supported`;
  if (url.protocol === "http:" && serviceUrl.protocol === "https:") {
    return "http: URLs are refused if the service uses https:";
  }
  if (url.username !== "" || url.password !== "") return "URLs with a user name are not supported";
  if ((await looksPublic(serviceUrl.hostname)) && !(await looksPublic(url.hostname))) {
    return `${url.hostname} is not a public address`;
  }
  return url;
}

/** Sends one request. Returns the outcome, or the URL to which the server redirects. */
async function requestOnce(
  url: URL,
  originHeaders: DownloadOptions["headers"],
  sink: ByteSink,
  startMs: number,
  options: DownloadOptions,
): Promise<DownloadReply | string> {
  const speed = new SpeedCheck(startMs, options.clock);
  const head: { status: number; headers: ReplyHeaders } = { status: 0, headers: {} };
  /** Chunks of a file that the server compressed although the request excludes compression. */
  const compressedChunks: Buffer[] = [];
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
          if (status < 200 || status >= 300) throw UNSUCCESSFUL_STATUS;
          speed.begin();
        },
        onData(chunk) {
          size += chunk.length;
          if (size > MAX_FILE_BYTES) throw TOO_LARGE;
          speed.check(chunk.length);
          if (isEncoded(head.headers["content-encoding"])) compressedChunks.push(chunk);
          else sink.write(chunk);
        },
      },
    );
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.cause === TOO_LARGE) return FILE_TOO_LARGE;
    if (error.cause !== UNSUCCESSFUL_STATUS) return interruptedReply(error);
  }
  const failure = await decompress(compressedChunks, head.headers, sink);
  return failure ?? replyOrRedirect(head.status, head.headers, url, options.clock.now());
}

/** Decompresses the chunks, if any, into the sink. Returns the failure, or null. */
async function decompress(
  compressedChunks: readonly Buffer[],
  headers: ReplyHeaders,
  sink: ByteSink,
): Promise<DownloadReply | null> {
  if (compressedChunks.length === 0) return null;
  const limits = { maxBytes: MAX_FILE_BYTES };
  try {
    sink.write(await decodeBody(Buffer.concat(compressedChunks), headers["content-encoding"], limits));
    return null;
  } catch (error) {
    if (errorCode(error) === "ERR_BUFFER_TOO_LARGE") return FILE_TOO_LARGE;
    return {
      outcome: "retry",
      why: `it could not be decompressed (${error instanceof Error ? error.message : error})`,
      retryAfterMs: null,
    };
  }
}

/** Aborts a slow or long download, because at one byte a second it would never reach the idle timeout. */
class SpeedCheck {
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

const TOO_LONG = new Error("the download took over 15 minutes");
const TOO_SLOW = new Error("less than 1 KiB/s arrived over 60 s");
const UNSUCCESSFUL_STATUS = new Error("not the file");
const TOO_LARGE = new Error("too large");
const FILE_TOO_LARGE: DownloadReply = { outcome: "forbidden", why: "the file is larger than 100 MiB" };

function interruptedReply(error: TransportError): DownloadReply {
  const { cause } = error;
  const blocked = cause instanceof BlockedAddressError ? cause : undefined;
  const reason = [TOO_LONG, TOO_SLOW].find((each) => each === cause) ?? blocked;
  const why = reason?.message ?? connectionErrorText(error);
  return isRetryable(error) ? { outcome: "retry", why, retryAfterMs: null } : { outcome: "forbidden", why };
}

function replyOrRedirect(
  status: number,
  headers: ReplyHeaders,
  url: URL,
  nowMs: number,
): DownloadReply | string {
  if (status >= 200 && status < 300) return { outcome: "done" };
  const { location } = headers;
  if (status >= 300 && status < 400 && typeof location === "string") {
    return URL.canParse(location, url.href) ? new URL(location, url).href : location;
  }
  if (isRetryable(status)) {
    const retryAfterMs = statedWaitMs({ headers }, nowMs);
    return { outcome: "retry", why: `HTTP ${status}`, retryAfterMs };
  }
  return { outcome: "gone", why: `HTTP ${status}`, ...(MISSING_STATUSES.has(status) && { isMissing: true }) };
}

/** HTTP statuses of an expired signed URL or a deleted file. */
const MISSING_STATUSES: ReadonlySet<number> = new Set([403, 404, 410]);
