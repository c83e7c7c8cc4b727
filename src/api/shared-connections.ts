import { setMaxListeners } from "node:events";
import type { Pool } from "undici";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import type { Connector } from "./connect.ts";
import type { Exchange, OutgoingRequest, Sender } from "./transport.ts";

/** Creates a pool of connections to an origin. @param signal aborts connection attempts */
export function getPool(
  origin: string,
  connect: Connector,
  signal: AbortSignal,
  options: Pool.Options = {},
): Pool {
  return new UndiciPool(origin, {
    ...options,
    // undici's timeouts are disabled, because `Exchange` has more precise timers.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: ({ protocol, host }, callback) => {
      connect(new URL(`${protocol}//${host}`), signal).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    },
  });
}

/**
 * Reuses connections, but never pauses a reply, because undici 7 would throw an uncaught error (nodejs/undici#5360).
 */
export class SharedConnections implements Sender {
  readonly #pools = new Map<string, Pool>();
  readonly #closing = new AbortController();
  readonly #connect: Connector;

  constructor(connect: Connector) {
    // Disables Node's warning of a leak, because each connection attempt adds a listener.
    setMaxListeners(0, this.#closing.signal);
    this.#connect = connect;
  }

  dispatch({ url, method, headers }: OutgoingRequest, exchange: Exchange): void {
    const { origin, pathname, search } = url;
    const pool = this.#pools.get(origin) ?? getPool(origin, this.#connect, this.#closing.signal);
    this.#pools.set(origin, pool);
    pool.dispatch({ method, headers, origin, path: `${pathname}${search}` }, exchange);
  }

  async destroy(): Promise<void> {
    this.#closing.abort(new Error("the client was closed"));
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}
