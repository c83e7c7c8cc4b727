import type { Clock } from "../lib/clock.ts";
import { BlockedAddressError, looksPublic } from "./address.ts";
import type { HttpClient } from "./client.ts";
import type { ReplyHeaders } from "./exchange.ts";
import { TransportError } from "./exchange.ts";
import { parseRetryAfter } from "./retry.ts";
import { troubleText } from "./trouble.ts";

/** Takes a file's bytes as they arrive. `write` may hold the sender back with the flow it is handed. */
export interface ByteSink {
  write(chunk: Buffer, flow: { pause(): void; resume(): void }): void;
}

/** How one attempt to fetch a result ended. */
export type DownloadReply =
  | { outcome: "done" }
  | { outcome: "retry"; why: string; retryAfterMs: number | null }
  /** This URL will not work any more; a fresh one may. */
  | { outcome: "gone"; why: string }
  /** This URL must not be followed. */
  | { outcome: "forbidden"; why: string };

export interface DownloadOptions {
  http: HttpClient;
  clock: Pick<Clock, "now">;
  /** The service that named the URL: what a result URL may be depends on it. */
  serviceUrl: URL;
  /** Hides the API key in a URL: no host but the service may learn it, wherever a redirect gets it from. */
  maskKey: (text: string) => string;
  /** No byte for this long ends the attempt. Default 30 s. */
  idleTimeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const IDLE_TIMEOUT_MS = 30_000;
const MOST_REDIRECTS = 5;
const LARGEST_FILE_BYTES = 100 * 1024 * 1024;

/** Fetches a result URL once, following redirects, with no Authorization header anywhere. Never throws. */
export async function download(
  url: string,
  sink: ByteSink,
  options: DownloadOptions,
): Promise<DownloadReply> {
  let target = url;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const checked = await checkResultUrl(options.maskKey(target), options.serviceUrl);
    if (typeof checked === "string") return { outcome: "forbidden", why: checked };
    const reply = await fetchOnce(checked, sink, options);
    if (typeof reply !== "string") return reply;
    target = reply;
  }
  return { outcome: "gone", why: `more than ${MOST_REDIRECTS} redirects` };
}

/** The URL to fetch, or in words why it must not be fetched. */
export async function checkResultUrl(text: string, serviceUrl: URL): Promise<URL | string> {
  if (!URL.canParse(text)) return "the result URL is no URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return `a ${url.protocol} URL is not fetched`;
  if (url.protocol === "http:" && serviceUrl.protocol === "https:") {
    return "an http: URL from an https: service is not fetched";
  }
  if (url.username !== "" || url.password !== "") return "a URL with a user name in it is not fetched";
  if ((await looksPublic(serviceUrl.hostname)) && !(await looksPublic(url.hostname))) {
    return `${url.hostname} is not a public address`;
  }
  return url;
}

/** One hop: its outcome, or the URL it redirects to. */
async function fetchOnce(
  url: URL,
  sink: ByteSink,
  options: DownloadOptions,
): Promise<DownloadReply | string> {
  const head: { status: number; headers: ReplyHeaders } = { status: 0, headers: {} };
  let size = 0;
  try {
    await options.http.send(
      {
        method: "GET",
        url,
        headers: { accept: "image/*", "accept-encoding": "identity" },
        idleTimeoutMs: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
        signal: options.signal,
      },
      {
        onHead(status, headers) {
          Object.assign(head, { status, headers });
          // The body of anything but the file itself is of no use.
          if (status < 200 || status >= 300) throw NOT_THE_FILE;
        },
        onData(chunk, flow) {
          size += chunk.length;
          if (size > LARGEST_FILE_BYTES) throw TOO_LARGE;
          sink.write(chunk, flow);
        },
      },
    );
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.cause === TOO_LARGE) return { outcome: "forbidden", why: "the file is larger than 100 MiB" };
    if (error.cause !== NOT_THE_FILE) return brokenOff(error);
  }
  return readHead(head.status, head.headers, url, options.clock.now());
}

const NOT_THE_FILE = new Error("not the file");
const TOO_LARGE = new Error("too large");

function brokenOff(error: TransportError): DownloadReply {
  const { cause } = error;
  if (cause instanceof BlockedAddressError) return { outcome: "forbidden", why: cause.message };
  return { outcome: "retry", why: troubleText(error), retryAfterMs: null };
}

function readHead(status: number, headers: ReplyHeaders, url: URL, nowMs: number): DownloadReply | string {
  if (status >= 200 && status < 300) return { outcome: "done" };
  const { location } = headers;
  if (status >= 300 && status < 400 && typeof location === "string") {
    return URL.canParse(location, url.href) ? new URL(location, url).href : location;
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const retryAfterMs = parseRetryAfter(headers["retry-after"], nowMs);
    return { outcome: "retry", why: `HTTP ${status}`, retryAfterMs };
  }
  return { outcome: "gone", why: `HTTP ${status}` };
}
