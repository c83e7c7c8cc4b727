import type { LookupFunction } from "node:net";
import type { buildConnector, Pool } from "undici";
import undiciConnector from "undici/lib/core/connect.js";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import type { Exchange, OutgoingRequest, Sender } from "./exchange.ts";
import { skippingInterim } from "./interim.ts";
import { CONNECTION, DISPATCHER } from "./undici-settings.ts";

/** Sends requests on connections that many share, one after another. */
export class SharedConnections implements Sender {
  readonly #pools = new Map<string, Pool>();
  readonly #connector: buildConnector.connector;

  /** @param lookup resolves host names. Default: the system's */
  constructor(lookup: LookupFunction | undefined) {
    this.#connector = skippingInterim(undiciConnector({ ...CONNECTION, lookup }));
  }

  dispatch(request: OutgoingRequest, exchange: Exchange): void {
    this.#pool(request.origin).dispatch(request, exchange);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #pool(origin: string): Pool {
    const pool =
      this.#pools.get(origin) ?? new UndiciPool(origin, { ...DISPATCHER, connect: this.#connector });
    this.#pools.set(origin, pool);
    return pool;
  }
}
