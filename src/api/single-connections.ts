import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Connector } from "./connect.ts";
import type { Exchange, OutgoingRequest, Sender, StreamedBody } from "./transport.ts";

/**
 * Sends each request on a new connection, which is never used again, because a service may close a used connection at any
 * moment, even during a submit. Uses Node's HTTP client: it accepts an unrequested `100 Continue`, after which undici 7 ends
 * the connection and loses the task id, and it loads in a fifth of the time, for which the user waits.
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

/** Sends the request and calls the exchange at each step. Its end is called exactly once, as the last step. */
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
  /** Handles a failed connection. A reply that arrived before may be complete, followed by bytes that are not HTTP. */
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
  // From here on bytes may be sent.
  if (!hasEnded) write(request.body, outgoing);
}

/** Writes a body. An error of a streamed body fails the request, which is then incomplete. */
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

/** Maximum size of the headers of a reply, in bytes: many times Node's default, but small. */
const MAX_HEAD_BYTES = 256 * 1024;

function requestOver(socket: Socket, { method, url, headers, body }: OutgoingRequest): ClientRequest {
  const length = isStreamed(body) && { "content-length": body.bytes };
  return httpRequest({
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, ...length },
    createConnection: () => socket,
    // An unusual reply must not cost the task id in it: it is the only reply on its connection, so that it
    // cannot be confused with another, and its content is checked.
    insecureHTTPParser: true,
    maxHeaderSize: MAX_HEAD_BYTES,
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
