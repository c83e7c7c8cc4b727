import { setMaxListeners } from "node:events";
import type { Pool } from "undici";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import type { Connector } from "./connect.ts";
import type { Exchange, OutgoingRequest, Sender } from "./exchange.ts";
import { skippingInterim } from "./interim.ts";
import { pausableClients } from "./pausable-client.ts";
import { DISPATCHER, dispatchOptions } from "./undici-settings.ts";

/** Sends requests on connections that many share, one after another. */
export class SharedConnections implements Sender {
  readonly #pools = new Map<string, Pool>();
  readonly #closing = new AbortController();
  readonly #factory: ReturnType<typeof pausableClients>;

  constructor(connect: Connector) {
    // Every connection that is being made adds a listener, so a large number is not a leak.
    setMaxListeners(0, this.#closing.signal);
    const connector = skippingInterim(({ protocol, host }, callback) => {
      connect(new URL(`${protocol}//${host}`), this.#closing.signal).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    });
    this.#factory = pausableClients(connector);
  }

  dispatch(request: OutgoingRequest, exchange: Exchange): void {
    this.#pool(request.url.origin).dispatch(dispatchOptions(request, exchange), exchange);
  }

  async destroy(): Promise<void> {
    this.#closing.abort(new Error("the client was closed"));
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #pool(origin: string): Pool {
    const pool = this.#pools.get(origin) ?? new UndiciPool(origin, { ...DISPATCHER, factory: this.#factory });
    this.#pools.set(origin, pool);
    return pool;
  }
}
