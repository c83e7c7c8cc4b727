import { MAX_REFERENCE_BYTES, REFERENCE_TYPES } from "../task/request.ts";
import { looksPublic } from "./address.ts";
import { connectionErrorText } from "./connection-errors.ts";
import type { HttpClient } from "./http-client.ts";
import { TRANSFER_POLICY } from "./retry.ts";
import { type ReplyHeaders, TransportError } from "./transport.ts";

/** Result of a HEAD request for an image. `why` is a phrase. */
export type ImageHead = { kind: "good" } | { kind: "unknown"; why: string } | { kind: "bad"; why: string };

export interface HeadOptions {
  /** Sends no key, and refuses private addresses if the service has a public address. */
  http: HttpClient;
  serviceUrl: URL;
  signal: AbortSignal;
}

const TIMEOUT_MS = TRANSFER_POLICY.reference.headMs;
const MAX_REDIRECTS = 5;
/** Accepted media types. Many servers send the unregistered `image/jpg`. */
const TYPES: ReadonlySet<string> = new Set([...REFERENCE_TYPES.map((type) => `image/${type}`), "image/jpg"]);
/** Media types that servers send for a file of unknown type. */
const UNKNOWN_TYPES: ReadonlySet<string> = new Set(["", "application/octet-stream", "binary/octet-stream"]);

/** Sends a HEAD request and follows redirects. @throws TransportError only if the signal has aborted */
export async function imageHead(text: string, options: HeadOptions): Promise<ImageHead> {
  let target = text;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const url = URL.canParse(target) ? new URL(target) : null;
    if (url?.protocol === "data:") return { kind: "unknown", why: "data: URLs cannot be checked" };
    if (url === null || !/^https?:$/.test(url.protocol)) return bad("it does not lead to an http(s) URL");
    if (url.username !== "" || url.password !== "")
      return { kind: "unknown", why: "URLs with a user name in them are not checked" };
    if ((await looksPublic(options.serviceUrl.hostname)) && !(await looksPublic(url.hostname)))
      return bad(`${url.hostname} is not a public address`);
    const reply = await requestHead(url, options);
    if ("kind" in reply) return reply;
    const { location } = reply.headers;
    if (reply.status < 300 || reply.status >= 400 || typeof location !== "string")
      return judgeHead(reply, url);
    target = URL.canParse(location, url.href) ? new URL(location, url).href : location;
  }
  return bad(`more than ${MAX_REDIRECTS} redirects`);
}

interface Head {
  status: number;
  headers: ReplyHeaders;
}

async function requestHead(url: URL, { http, signal }: HeadOptions): Promise<Head | ImageHead> {
  const head: Head = { status: 0, headers: {} };
  try {
    await http.send(
      { method: "HEAD", url, headers: { accept: "image/*" }, timeoutMs: TIMEOUT_MS, signal },
      { onHead: (status, headers) => void Object.assign(head, { status, headers }), onData() {} },
    );
    return head;
  } catch (error) {
    if (!(error instanceof TransportError) || signal.aborted) throw error;
    return bad(connectionErrorText(error));
  }
}

function judgeHead({ status, headers }: Head, { search }: URL): ImageHead {
  if (status === 405 || status === 501)
    return { kind: "unknown", why: `its server refuses HEAD (HTTP ${status})` };
  if ((status === 401 || status === 403) && search !== "")
    return { kind: "unknown", why: `HTTP ${status}, but the URL may be signed for GET only` };
  if (status < 200 || status >= 300) return bad(`HTTP ${status}`);
  const type = headerText(headers["content-type"]).replace(/;.*$/s, "").trim().toLowerCase();
  const size = headerText(headers["content-length"]);
  if (!TYPES.has(type) && !UNKNOWN_TYPES.has(type)) return bad(`its type is ${type}, not JPEG, PNG or WebP`);
  if (/^\d+$/.test(size) && Number(size) > MAX_REFERENCE_BYTES)
    return bad(`it has ${size} bytes, more than 4 MB`);
  if (UNKNOWN_TYPES.has(type)) return { kind: "unknown", why: "its server does not send its type" };
  return /^\d+$/.test(size)
    ? { kind: "good" }
    : { kind: "unknown", why: "its server does not send its size" };
}

function headerText(header: string | string[] | undefined): string {
  return [header ?? ""].flat()[0] ?? "";
}

function bad(why: string): ImageHead {
  return { kind: "bad", why };
}
