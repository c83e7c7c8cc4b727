import type { LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
import { VERSION } from "../lib/version.ts";
import type { EarlyConnection } from "./early-connection.ts";
import { Exchange, type HttpRequest, type ReplyHeaders, type ReplyReceiver } from "./exchange.ts";
import type { Proxies } from "./proxies.ts";
import { Routes } from "./routes.ts";

export interface HttpClientOptions {
  /** Proxies for the targets they name; absent: every connection is direct. */
  proxies?: Proxies | undefined;
  /** Resolves host names, and may refuse the address found. Default: the system's. */
  lookup?: LookupFunction;
  /** Used by the first request with a connection of its own, unless that goes through a proxy. */
  early?: EarlyConnection | null;
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

  constructor({ proxies, lookup, early, onExchange }: HttpClientOptions = {}) {
    this.#shared = new Routes({ proxies, lookup });
    this.#single = new Routes({ proxies, lookup, early });
    this.#onExchange = onExchange;
  }

  /** @throws TransportError */
  async send(request: HttpRequest, receiver: ReplyReceiver): Promise<void> {
    const start = performance.now();
    let result: number | string = "no answer";
    const onHead = (status: number, headers: ReplyHeaders) => {
      result = status;
      receiver.onHead(status, headers);
    };
    try {
      const routes = request.ownConnection ? this.#single : this.#shared;
      await dispatch(await routes.to(request.url), request, {
        onHead,
        onData: (chunk, flow) => receiver.onData(chunk, flow),
      });
    } catch (error) {
      result = `${result}, ${error instanceof Error ? error.message : error}`;
      throw error;
    } finally {
      const { method, url } = request;
      this.#onExchange?.({ method, url, result, elapsedMs: performance.now() - start });
    }
  }

  /** Closes every connection, used or idle, so that the process can end. */
  async close(): Promise<void> {
    await Promise.all([this.#shared.close(), this.#single.close()]);
  }
}

function dispatch(dispatcher: Dispatcher, request: HttpRequest, receiver: ReplyReceiver): Promise<void> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(request, receiver, resolve, reject);
    const { url } = request;
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: { "user-agent": `imggen/${VERSION}`, ...request.headers },
        body: request.body ?? null,
        // Sends `Connection: close`: the connection is not used again.
        ...(request.ownConnection && { reset: true }),
      },
      exchange,
    );
  });
}
