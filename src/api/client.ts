import type { LookupFunction } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import UndiciAgent from "undici/lib/dispatcher/agent.js";
import { VERSION } from "../lib/version.ts";
import { CONNECT, type EarlyConnection } from "./early-connection.ts";
import { Exchange, type HttpRequest, type ReplyHeaders, type ReplyReceiver } from "./exchange.ts";
import type { Proxies } from "./proxies.ts";

export interface HttpClientOptions {
  /** Proxies for the targets they name; absent: every connection is direct. */
  proxies?: Proxies | undefined;
  /** Resolves host names, and may refuse the address found. Default: the system's. */
  lookup?: LookupFunction;
  /** What the first request to its origin goes over, where that is not through a proxy. */
  early?: EarlyConnection | null;
  /** Told of every exchange that ended, for `--verbose`. The URL is whole: redact it before showing it. */
  onExchange?: ((exchange: ExchangeSummary) => void) | undefined;
}

interface ExchangeSummary {
  method: string;
  url: URL;
  /** The HTTP status, or what went wrong in place of one. */
  result: number | string;
  elapsedMs: number;
}

type AgentSettings = ConstructorParameters<typeof UndiciAgent>[0] & {
  connect: buildConnector.BuildOptions;
};

/** HTTP without opinions: one request, one reply, no redirect, no retry. */
export class HttpClient {
  readonly #direct: Dispatcher;
  readonly #settings: AgentSettings;
  #proxied: Promise<Dispatcher> | null = null;
  readonly #proxies: Proxies | undefined;
  readonly #onExchange: HttpClientOptions["onExchange"];

  constructor(options: HttpClientOptions = {}) {
    this.#settings = {
      // Our own timers rule: undici's tick once a second, and count differently.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { ...CONNECT, lookup: options.lookup },
    };
    const { early } = options;
    this.#direct = new UndiciAgent(
      early ? { ...this.#settings, connect: early.connector(this.#settings.connect) } : this.#settings,
    );
    this.#proxies = options.proxies;
    this.#onExchange = options.onExchange;
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
      await dispatch(await this.#dispatcherFor(request.url), request, {
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

  /** Drops every connection, used or idle, so that the process can end. */
  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), (await this.#proxied)?.destroy()]);
  }

  /** undici would lend HTTP_PROXY to `https:` targets; everybody else keeps the two apart. */
  async #dispatcherFor(url: URL): Promise<Dispatcher> {
    const named = url.protocol === "https:" ? this.#proxies?.https : this.#proxies?.http;
    if (!named || !this.#proxies) return this.#direct;
    const proxies = this.#proxies;
    this.#proxied ??= import("./proxy.ts").then(({ proxyAgent }) => proxyAgent(proxies, this.#settings));
    return this.#proxied;
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
      },
      exchange,
    );
  });
}
