import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Connector } from "./connect.ts";
import type { Exchange, OutgoingRequest, Sender, StreamedBody } from "./transport.ts";

/**
 * Sends each request on a new connection, because a server can close a used one at any moment, even during a submit.
 * Uses Node's client, because undici 7 loads more slowly, and loses the task id after an unrequested `100 Continue`.
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
    exchange.onEarlyFailure(() => attempt.abort());
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

/** Calls the exchange's methods. The last call is either `onResponseEnd` or `onResponseError`. */
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
  /** Handles a failed connection. The reply can be complete, for example if invalid bytes follow the reply. */
  const onConnectionError = (error: Error) => {
    // Each read emits a `data` event, whose listener passes the chunk to the exchange.
    while (!hasEnded && reply?.read()) {}
    if (reply?.complete) end();
    abort(error);
  };
  outgoing.on("error", onConnectionError);
  outgoing.on("close", () => {
    if (!reply?.complete) onConnectionError(new Error("the connection was cut"));
  });
  outgoing.on("response", (message) => {
    reply = message;
    message.on("error", onConnectionError);
    message.on("data", (chunk: Buffer) => step(() => exchange.onResponseData({ abort }, chunk)));
    message.on("end", end);
    step(() => exchange.onResponseStart({ abort }, message.statusCode ?? 0, message.headers));
  });
  step(() => exchange.onRequestStart({ abort }));
  // The first byte is sent after this line.
  if (!hasEnded) write(request.body, outgoing);
}

/** Writes a body. Aborts the request if a streamed body throws. */
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

/** Maximum size of the headers of a reply, 16 times Node's default. */
const MAX_HEAD_BYTES = 256 * 1024;

function requestOver(socket: Socket, { method, url, headers, body }: OutgoingRequest): ClientRequest {
  const length = isStreamed(body) && { "content-length": body.bytes };
  return httpRequest({
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, ...length },
    createConnection: () => socket,
    // Lenient parsing can save the task id of an invalid reply. This is safe, because the reply is the only one on its
    // connection and its content is checked.
    insecureHTTPParser: true,
    maxHeaderSize: MAX_HEAD_BYTES,
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
