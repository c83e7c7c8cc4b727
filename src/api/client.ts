import { VERSION } from "../lib/version.ts";
import { connector } from "./connect.ts";
import type { EarlyConnection } from "./early-connection.ts";
import { Exchange, type Sender } from "./exchange.ts";
import { readInPlace } from "./read-in-place.ts";
import { type RouteOptions, Routes } from "./routes.ts";
import { SingleConnections } from "./single-connections.ts";
import type { HttpRequest, ReplyHeaders, ReplyReceiver } from "./transport.ts";

export interface HttpClientOptions extends RouteOptions {
  /** Used by the first request with a connection of its own, unless that goes through a proxy. */
  early?: EarlyConnection | null;
  /** For large replies: connections that are reused are read into memory that is used again. Default: false. */
  readsInPlace?: boolean;
  /** Called for every exchange that ended, for `--verbose`. The URL is whole: redact it before showing it. */
  onExchange?: ((exchange: ExchangeSummary) => void) | undefined;
}

interface ExchangeSummary {
  method: string;
  url: URL;
  /** The HTTP status, or the error in place of one. */
  result: number | string;
  elapsedMs: number;
}

/** Plain HTTP: one request, one reply, no redirects, no retries. */
export class HttpClient {
  /** For requests that reuse connections. */
  readonly #shared: Routes;
  /** For requests with a connection of their own, which is never reused. */
  readonly #single: Routes;
  readonly #onExchange: HttpClientOptions["onExchange"];

  constructor({ early, readsInPlace = false, onExchange, ...options }: HttpClientOptions = {}) {
    const connect = connector(options.lookup);
    this.#single = new Routes(
      options,
      async () => new SingleConnections(early ? early.connector(connect) : connect),
    );
    const connectShared = readsInPlace ? connector(options.lookup, readInPlace) : connect;
    this.#shared = new Routes(options, () =>
      import("./shared-connections.ts").then(
        ({ SharedConnections }) => new SharedConnections(connectShared),
        // The program's files are gone, as in an upgrade. What was paid for can still be polled and saved.
        () => new SingleConnections(connect),
      ),
    );
    this.#onExchange = onExchange;
  }

  /** @throws TransportError */
  async send(request: HttpRequest, receiver: ReplyReceiver): Promise<void> {
    const { method, url } = request;
    const start = performance.now();
    let result: number | string = "no answer";
    const onHead = (status: number, headers: ReplyHeaders) => {
      result = status;
      receiver.onHead(status, headers);
    };
    try {
      const receive = { onHead, onData: receiver.onData.bind(receiver) };
      if (request.ownConnection) await sendOver(await this.#single.to(url), request, receive);
      else await sendOver(await this.#shared.to(url), request, receive);
    } catch (error) {
      result = `${result}, ${error instanceof Error ? error.message : error}`;
      throw error;
    } finally {
      this.#onExchange?.({ method, url, result, elapsedMs: performance.now() - start });
    }
  }

  /** Loads the code of shared connections, of every client, before it is needed: that takes 10 ms. Never throws. */
  async prepareShared(url: URL): Promise<void> {
    await this.#shared.to(url).catch(() => {});
  }

  /** Drops every connection, used, idle or not made yet, so that the process can end. */
  async close(): Promise<void> {
    await Promise.all([this.#shared.close(), this.#single.close()]);
  }
}

function sendOver(sender: Sender, request: HttpRequest, receiver: ReplyReceiver): Promise<void> {
  return new Promise((resolve, reject) => {
    const { url, method, body = null, ownConnection = false } = request;
    const headers = { "user-agent": `imggen/${VERSION}`, ...request.headers };
    const exchange = new Exchange(request, receiver, resolve, reject);
    sender.dispatch({ url, method, headers, body, ownConnection }, exchange);
  });
}
