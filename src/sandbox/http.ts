import type { RequestListener } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { type Delivery, deliver } from "./deliver.ts";
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
