import type { LookupFunction } from "node:net";
import type { Sender } from "./exchange.ts";
import type { Proxies } from "./proxies.ts";

export interface RouteOptions {
  /** Proxies for the targets they name; absent: every connection is direct. */
  proxies?: Proxies | undefined;
  /** Resolves host names, and may refuse the address found. Default: the system's. */
  lookup?: LookupFunction | undefined;
}

/** The ways to the hosts that requests go to, directly or through proxies, with the connections made on them. */
export class Routes {
  readonly #options: RouteOptions;
  readonly #makeDirect: () => Promise<Sender>;
  #direct: Promise<Sender> | null = null;
  #proxied: Promise<Sender> | null = null;

  /** @param makeDirect called when a request first goes without a proxy */
  constructor(options: RouteOptions, makeDirect: () => Promise<Sender>) {
    this.#options = options;
    this.#makeDirect = makeDirect;
  }

  /** The sender for a URL. HTTPS_PROXY alone is for `https:` URLs, as in curl; undici would use HTTP_PROXY for them too. */
  to(url: URL): Promise<Sender> {
    const { proxies, lookup } = this.#options;
    const named = url.protocol === "https:" ? proxies?.https : proxies?.http;
    if (!named || !proxies) return this.#toDirect();
    this.#proxied ??= import("./proxy.ts").then(({ throughProxies }) => throughProxies(proxies, lookup));
    return this.#proxied;
  }

  #toDirect(): Promise<Sender> {
    this.#direct ??= this.#makeDirect();
    return this.#direct;
  }

  /** Drops every connection, used, idle or not made yet. */
  async close(): Promise<void> {
    const senders = await Promise.allSettled([this.#direct, this.#proxied]);
    await Promise.all(senders.map((sender) => sender.status === "fulfilled" && sender.value?.destroy()));
  }
}
