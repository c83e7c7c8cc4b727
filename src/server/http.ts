import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorCode } from "../lib/error-text.ts";
import type { FileAddress } from "./links.ts";
import { invalidRequest, refusal, type ServerReply, unknownError } from "./reply.ts";

export interface RequestLine extends Delivery {
  method: string;
  /** Path without the query, which can contain a signature. */
  path: string;
}

export interface ServiceRequest {
  url: URL;
  /** Names in lower case. The values of a repeated header are joined. */
  headers: Readonly<Record<string, string>>;
  body: Readable;
  signal: AbortSignal;
}

type Operation = (request: ServiceRequest, key: string) => ServerReply | Promise<ServerReply>;

/** Handles paths below /v1. @param key null if missing or malformed */
export type Version1Handler = (
  request: ServiceRequest,
  method: string,
  key: string | null,
) => Promise<ServerReply>;

/** Each `key` has the right format, but might be unknown to the service. */
export interface Operations {
  /** POST /generate-image (section 4.1). */
  submit: Operation;
  /** GET /generate-image (section 4.2). */
  poll: Operation;
  /** GET /files/<task>/<name>: an image. No key is needed, because the URL is signed. */
  file(address: FileAddress): Promise<ServerReply>;
  version1?: Version1Handler;
}

const API_PATH = "/api/generate-image";
const FILE_PATH = /^\/files\/([^/]+)\/([^/]+)$/;

/** The 404 reply for an unknown path has no envelope. The error replies 400, 405 and 500 have the envelope. */
export function createListener(
  operations: Operations,
  onRequest: (line: RequestLine) => void = () => {},
): RequestListener {
  return async (incoming, outgoing) => {
    const url = parseAddress(incoming);
    const clientId = getClientId(incoming);
    if (clientId !== null) outgoing.setHeader(CLIENT_ID, clientId);
    if (url === null) return void deliver(invalidRequest("no address"), outgoing);
    const closed = new AbortController();
    outgoing.once("close", () => closed.abort());
    const reply = await createReply({ incoming, url, signal: closed.signal }, operations);
    const delivery = await deliver(reply, outgoing);
    const note = [delivery.note, clientId && `(${clientId})`].filter(Boolean).join(" ") || null;
    onRequest({ method: incoming.method ?? "", path: url.pathname, ...delivery, note });
  };
}

const CLIENT_ID = "X-Client-Request-Id";

function getClientId({ headers }: IncomingMessage): string | null {
  const id = headers[CLIENT_ID.toLowerCase()];
  return typeof id === "string" && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null;
}

function parseAddress({ url = "", headers }: IncomingMessage): URL | null {
  if (!url.startsWith("/")) return URL.canParse(url) ? new URL(url) : null;
  const origin = `http://${headers.host ?? ""}`;
  // The texts are joined, because `new URL(url, origin)` would read a host name after // at the start of `url`.
  return URL.canParse(origin) && URL.canParse(origin + url) ? new URL(origin + url) : null;
}

interface IncomingRequest {
  incoming: IncomingMessage;
  url: URL;
  signal: AbortSignal;
}

async function createReply(request: IncomingRequest, operations: Operations): Promise<ServerReply> {
  try {
    return await route(request, operations);
  } catch (error) {
    return unknownError(String(error), { status: 500 });
  }
}

function route(
  { incoming, url, signal }: IncomingRequest,
  operations: Operations,
): ServerReply | Promise<ServerReply> {
  const method = incoming.method === "HEAD" ? "GET" : incoming.method;
  const [, taskId, name] = FILE_PATH.exec(url.pathname) ?? [];
  if (taskId !== undefined && name !== undefined) {
    return method === "GET"
      ? operations.file({ taskId, name, query: url.searchParams })
      : methodNotAllowed("GET");
  }
  if (operations.version1 && url.pathname.startsWith("/v1/")) {
    const headers = joinHeaders(incoming);
    const request = { url, headers, body: incoming, signal };
    return operations.version1(request, method ?? "", parseKey(headers.authorization));
  }
  // This error has no envelope, because an envelope would make a wrong base URL look correct.
  if (url.pathname !== API_PATH)
    return { kind: "json", status: 404, body: { error: "not found" }, note: "no such path" };
  if (method !== "POST" && method !== "GET") return methodNotAllowed("GET, POST");
  // The key is checked before the rest of the request (section 4.1).
  const headers = joinHeaders(incoming);
  const key = parseKey(headers.authorization);
  if (key === null) return refusal("login_required");
  const request = { url, headers, body: incoming, signal };
  return method === "POST" ? operations.submit(request, key) : operations.poll(request, key);
}

function joinHeaders({ headersDistinct }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(", ")]),
  );
}

function methodNotAllowed(allowed: string): ServerReply {
  return invalidRequest("method not allowed", { status: 405, headers: { Allow: allowed } });
}

/** Returns the key of an Authorization header (section 5); null if the key is missing or malformed. */
function parseKey(authorization = ""): string | null {
  const [, key = ""] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  return /^sk-./.test(key) ? key : null;
}

type Picture = Extract<ServerReply, { kind: "picture" }>;

export interface Delivery {
  /** The HTTP status; 0 if the connection was closed without a reply. */
  status: number;
  note: string | null;
  /** Whether the request was refused, possibly with HTTP status 200. */
  isRefused: boolean;
}

async function deliver(reply: ServerReply, outgoing: ServerResponse): Promise<Delivery> {
  const { note } = reply;
  switch (reply.kind) {
    case "envelope":
    case "json": {
      outgoing.writeHead(reply.status, { ...reply.headers, "Content-Type": "application/json" });
      outgoing.end(JSON.stringify(reply.body));
      const isRefused = reply.kind === "envelope" ? reply.body.code !== 0 : reply.status >= 400;
      return { status: reply.status, note, isRefused };
    }
    case "live": {
      const { status, note: resultNote } = await reply.write(outgoing).catch((error: unknown) => {
        outgoing.destroy();
        return { status: 0, note: String(error) };
      });
      return { status, note: resultNote, isRefused: status >= 400 };
    }
    case "page":
      outgoing.writeHead(reply.status, { "Content-Type": "text/html; charset=utf-8" });
      outgoing.end(reply.html);
      return { status: reply.status, note, isRefused: reply.status >= 400 };
    case "silence":
      outgoing.destroy();
      return { status: 0, note, isRefused: false };
    case "picture":
      return { status: 200, note: (await stream(reply, outgoing)) ?? note, isRefused: false };
  }
}

async function stream(picture: Picture, outgoing: ServerResponse): Promise<string | null> {
  const { chunks, mediaType, bytes, cutShort, onSent } = picture;
  outgoing.writeHead(200, {
    "Content-Type": mediaType,
    ...(bytes !== null && { "Content-Length": String(bytes) }),
  });
  if (outgoing.req.method === "HEAD") {
    outgoing.end();
    return null;
  }
  try {
    await pipeline(Readable.from(chunks), outgoing, { end: !cutShort });
    if (cutShort) outgoing.socket?.destroySoon();
    else onSent?.();
    return null;
  } catch (error) {
    outgoing.destroy();
    if (errorCode(error) === "ERR_STREAM_PREMATURE_CLOSE") return "the client disconnected";
    return `the image could not be sent: ${String(error)}`;
  }
}
