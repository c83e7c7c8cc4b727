import type { RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { errorCode } from "../lib/error-text.ts";
import type { FileAddress } from "./links.ts";
import { invalidRequest, refusal, type SandboxReply, unknownError } from "./reply.ts";

/** One request, for the sandbox's log. */
export interface RequestLine extends Delivery {
  method: string;
  /** Without the query, which may be a signature. */
  path: string;
}

const API = "/api/generate-image";
const FILES = "/files/:taskId/:name";

type RequestContext = Context<{ Bindings: HttpBindings }>;
type Answer = (context: RequestContext) => SandboxReply | Promise<SandboxReply>;
type Operation = (request: Request, key: string) => SandboxReply | Promise<SandboxReply>;

/** What a service answers. The key is one of the right form, not yet of an account. */
export interface Operations {
  /** POST /generate-image (section 4.1). */
  submit: Operation;
  /** GET /generate-image (section 4.2). */
  poll: Operation;
  /** GET /files/<task>/<name>: an image, for anyone with its signed URL. */
  file(address: FileAddress): Promise<SandboxReply>;
}

/**
 * The service over HTTP: its two operations, the images, a page for an unknown path (404), and an envelope for
 * everything else: a wrong method (405) or a bug of the sandbox (500).
 */
export function createListener(
  operations: Operations,
  onRequest: (line: RequestLine) => void = () => {},
): RequestListener {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const route = (answer: Answer) => async (context: RequestContext) => {
    const reply = await answerOf(answer, context);
    const delivery = await deliver(reply, context.env.outgoing);
    onRequest({ method: context.req.method, path: urlOf(context).pathname, ...delivery });
    return RESPONSE_ALREADY_SENT;
  };
  app.post(API, route(withKey(operations.submit)));
  app.get(API, route(withKey(operations.poll)));
  app.all(API, route(otherMethod("GET, POST")));
  app.get(FILES, route(fileOf(operations)));
  app.all(FILES, route(otherMethod("GET")));
  // Without the envelope, which would say that a wrong base URL is a right one.
  app.notFound(
    route(() => ({ kind: "page", status: 404, html: "<h1>Not found</h1>\n", note: "no such path" })),
  );
  return getRequestListener((request, env) => app.fetch(request, env), {
    overrideGlobalObjects: false,
    // What is no address at all never reaches a route.
    errorHandler: () =>
      Response.json({ code: -1, message: "image_generation.error.invalid_request" }, { status: 400 }),
  });
}

/** The answer, or HTTP 500 after an exception, whose message goes to the log and not to the client. */
async function answerOf(answer: Answer, context: RequestContext): Promise<SandboxReply> {
  try {
    return await answer(context);
  } catch (error) {
    return unknownError(String(error), { status: 500 });
  }
}

/** Section 4.1: credentials are checked before everything else. */
function withKey(operation: Operation): Answer {
  return ({ req }) => {
    const key = keyOf(req.header("Authorization") ?? null);
    if (key === null) return refusal("login_required");
    return operation(req.raw, key);
  };
}

function fileOf(operations: Operations): Answer {
  return (context) => {
    const { taskId = "", name = "" } = context.req.param();
    return operations.file({ taskId, name, query: urlOf(context).searchParams });
  };
}

function otherMethod(allowed: string): Answer {
  return () => invalidRequest("no such method", { status: 405, headers: { Allow: allowed } });
}

function urlOf({ req }: RequestContext): URL {
  return new URL(req.url);
}

/**
 * The key of an Authorization header (section 5), or null if it is missing or malformed. Every key with the prefix has an
 * account here, so a key is wrong only without it.
 */
function keyOf(authorization: string | null): string | null {
  return /^Bearer +(sk-\S+)$/.exec(authorization ?? "")?.[1] ?? null;
}

type Picture = Extract<SandboxReply, { kind: "picture" }>;

/** How a reply was sent. */
export interface Delivery {
  /** The HTTP status; 0 if the connection was closed without a reply. */
  status: number;
  /** The result, if there is more to say than the status. */
  note: string | null;
  /** Whether the service said no, which it does with the status 200 too. */
  isRefused: boolean;
}

/** Sends a reply. Never throws, even if the client has disconnected. */
export async function deliver(reply: SandboxReply, outgoing: ServerResponse): Promise<Delivery> {
  const { note } = reply;
  switch (reply.kind) {
    case "envelope":
      outgoing.writeHead(reply.status, { ...reply.headers, "Content-Type": "application/json" });
      outgoing.end(JSON.stringify(reply.body));
      return { status: reply.status, note, isRefused: reply.body.code !== 0 };
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

/** Streams an image while it is drawn or read, as fast as the client reads. @returns the error, if any */
async function stream(picture: Picture, outgoing: ServerResponse): Promise<string | null> {
  const { chunks, mediaType, bytes, cutShort } = picture;
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
    return null;
  } catch (error) {
    outgoing.destroy();
    if (errorCode(error) === "ERR_STREAM_PREMATURE_CLOSE") return "the client hung up";
    return `the image could not be sent: ${String(error)}`;
  }
}
