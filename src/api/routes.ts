import type { LookupFunction } from "node:net";
import type { buildConnector, Dispatcher, Pool } from "undici";
import undiciConnector from "undici/lib/core/connect.js";
import UndiciPool from "undici/lib/dispatcher/pool.js";
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
  /**
   * By origin. undici's agent would close a pool with its last connection and make another for the next request: for
   * requests with a connection of their own that is one pool each, which cost an eighth of a batch row.
   */
  readonly #pools = new Map<string, Pool>();
  readonly #connector: buildConnector.connector;
  readonly #connect: buildConnector.BuildOptions;
  readonly #proxies: Proxies | undefined;
  #proxied: Promise<Dispatcher> | null = null;

  constructor({ proxies, lookup, early }: RouteOptions) {
    this.#connect = { ...CONNECT, lookup };
    this.#connector = skippingInterim(
      early ? early.connector(this.#connect) : undiciConnector(this.#connect),
    );
    this.#proxies = proxies;
  }

  /** undici would lend HTTP_PROXY to `https:` targets; everybody else keeps the two apart. */
  async to(url: URL): Promise<Dispatcher> {
    const named = url.protocol === "https:" ? this.#proxies?.https : this.#proxies?.http;
    if (!named || !this.#proxies) return this.#pool(url.origin);
    const proxies = this.#proxies;
    const settings = { ...SETTINGS, connect: this.#connect };
    this.#proxied ??= import("./proxy.ts").then(({ proxyAgent }) => proxyAgent(proxies, settings));
    return this.#proxied;
  }

  #pool(origin: string): Pool {
    const pool = this.#pools.get(origin) ?? new UndiciPool(origin, { ...SETTINGS, connect: this.#connector });
    this.#pools.set(origin, pool);
    return pool;
  }

  /** Drops every connection, used or idle. */
  async close(): Promise<void> {
    const direct = [...this.#pools.values()].map((pool) => pool.destroy());
    await Promise.all([...direct, (await this.#proxied)?.destroy()]);
  }
}
