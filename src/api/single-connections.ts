import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Connector } from "./connect.ts";
import type { Exchange, OutgoingRequest, Sender, StreamedBody } from "./transport.ts";

/**
 * Sends each request on a connection of its own, which is never used again: a service may close one that has carried a
 * request at any moment, also while a submit leaves. By Node's own HTTP client, which accepts an unrequested
 * `100 Continue` (undici 7 ends the connection, and the task id after it is lost), and which is ready in a fifth of the
 * time that undici takes to load and to compile its parser: a submit is what the user waits for.
 */
export class SingleConnections implements Sender {
  readonly #connect: Connector;
  readonly #attempts = new Set<AbortController>();
  readonly #open = new Set<Socket>();
  #isDestroyed = false;

  constructor(connect: Connector) {
    this.#connect = connect;
  }

  dispatch(request: OutgoingRequest, exchange: Exchange): void {
    const attempt = new AbortController();
    this.#attempts.add(attempt);
    exchange.onGivenUp(() => attempt.abort());
    if (this.#isDestroyed) attempt.abort(closed());
    this.#connect(request.url, attempt.signal)
      .finally(() => this.#attempts.delete(attempt))
      .then(
        (socket) => {
          this.#open.add(socket);
          socket.once("close", () => this.#open.delete(socket));
          send(socket, request, exchange);
        },
        (error) => exchange.onResponseError(null, error),
      );
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    for (const attempt of this.#attempts) attempt.abort(closed());
    for (const socket of this.#open) socket.destroy();
  }
}

const closed = () => new Error("the client was closed");

/** Sends the request, and calls the exchange at each step: with one end, and nothing after it. */
function send(socket: Socket, request: OutgoingRequest, exchange: Exchange): void {
  let outgoing: ClientRequest;
  try {
    outgoing = requestOver(socket, request);
  } catch (error) {
    socket.destroy();
    exchange.onResponseError(null, asError(error));
    return;
  }
  let reply: IncomingMessage | null = null;
  let hasEnded = false;
  const step = (call: () => void, isLast = false) => {
    if (hasEnded) return;
    hasEnded = isLast;
    try {
      call();
    } catch (error) {
      abort(asError(error));
    }
  };
  const end = () => step(() => exchange.onResponseEnd(), true);
  const abort = (error: Error) => {
    step(() => exchange.onResponseError(null, error), true);
    outgoing.destroy();
  };
  /** The connection failed. What arrived before that still counts: a reply may be whole, and what follows it no HTTP. */
  const lose = (error: Error) => {
    // Each read is handed over by the listener below.
    while (!hasEnded && reply?.read()) {}
    if (reply?.complete) end();
    abort(error);
  };
  outgoing.on("error", lose);
  outgoing.on("close", () => {
    if (!reply?.complete) lose(new Error("the connection was cut"));
  });
  outgoing.on("response", (message) => {
    reply = message;
    message.on("error", lose);
    message.on("data", (chunk: Buffer) => step(() => exchange.onResponseData({ abort }, chunk)));
    message.on("end", end);
    step(() => exchange.onResponseStart({ abort }, message.statusCode ?? 0, message.headers));
  });
  step(() => exchange.onRequestStart({ abort }));
  // From here on bytes may leave.
  if (!hasEnded) write(request.body, outgoing);
}

/** Writes a body. An error of a streamed one is the request's, which ends cut short. */
function write(body: OutgoingRequest["body"], outgoing: ClientRequest): void {
  if (!isStreamed(body)) {
    outgoing.end(body);
    return;
  }
  const source = Readable.from(body.chunks());
  source.once("error", (error) => outgoing.destroy(error));
  outgoing.once("close", () => source.destroy());
  source.pipe(outgoing);
}

function isStreamed(body: OutgoingRequest["body"]): body is StreamedBody {
  return body !== null && typeof body === "object" && "chunks" in body;
}

/** The longest head of a reply, in bytes: many times what Node allows by itself, and little to hold. */
const MAX_HEAD_BYTES = 256 * 1024;

function requestOver(socket: Socket, { method, url, headers, body }: OutgoingRequest): ClientRequest {
  const length = isStreamed(body) && { "content-length": body.bytes };
  return httpRequest({
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, ...length },
    createConnection: () => socket,
    // An unusual reply must not cost the task id in it: it is the only reply of its connection, so that no
    // other can be confused with it, and its content is checked.
    insecureHTTPParser: true,
    maxHeaderSize: MAX_HEAD_BYTES,
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
