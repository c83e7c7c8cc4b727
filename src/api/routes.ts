import type { LookupFunction } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import undiciConnector from "undici/lib/core/connect.js";
import UndiciAgent from "undici/lib/dispatcher/agent.js";
import { CONNECT, type EarlyConnection } from "./early-connection.ts";
import { skippingInterim } from "./interim.ts";
import type { Proxies } from "./proxies.ts";

interface RouteOptions {
  proxies?: Proxies | undefined;
  lookup?: LookupFunction | undefined;
  early?: EarlyConnection | null | undefined;
}

/** How every dispatcher of ours is set. Our own timers rule: undici's tick once a second, and count differently. */
const SETTINGS = { headersTimeout: 0, bodyTimeout: 0 };

/** The ways to the hosts that requests go to, directly or through proxies, with the connections made on them. */
export class Routes {
  readonly #direct: Dispatcher;
  readonly #connect: buildConnector.BuildOptions;
  readonly #proxies: Proxies | undefined;
  #proxied: Promise<Dispatcher> | null = null;

  constructor({ proxies, lookup, early }: RouteOptions) {
    this.#connect = { ...CONNECT, lookup };
    const connect = early ? early.connector(this.#connect) : undiciConnector(this.#connect);
    this.#direct = new UndiciAgent({ ...SETTINGS, connect: skippingInterim(connect) });
    this.#proxies = proxies;
  }

  /** undici would lend HTTP_PROXY to `https:` targets; everybody else keeps the two apart. */
  async to(url: URL): Promise<Dispatcher> {
    const named = url.protocol === "https:" ? this.#proxies?.https : this.#proxies?.http;
    if (!named || !this.#proxies) return this.#direct;
    const proxies = this.#proxies;
    const settings = { ...SETTINGS, connect: this.#connect };
    this.#proxied ??= import("./proxy.ts").then(({ proxyAgent }) => proxyAgent(proxies, settings));
    return this.#proxied;
  }

  /** Drops every connection, used or idle. */
  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), (await this.#proxied)?.destroy()]);
  }
}
