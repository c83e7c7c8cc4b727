import { setMaxListeners } from "node:events";
import type { Pool } from "undici";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import type { Connector } from "./connect.ts";
import type { Exchange, OutgoingRequest, Sender } from "./transport.ts";

/** A pool of connections to one origin. @param signal aborts connections that are being opened */
export function getPool(
  origin: string,
  connect: Connector,
  signal: AbortSignal,
  options: Pool.Options = {},
): Pool {
  return new UndiciPool(origin, {
    ...options,
    // The exchange has its own timers, because undici's have a resolution of a second and count differently.
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
 * Sends requests on shared connections, one after another. Replies are never paused: if the connection of a paused reply
 * ends, undici 7 throws from a socket's event, where it cannot be caught (nodejs/undici#5360).
 */
export class SharedConnections implements Sender {
  readonly #pools = new Map<string, Pool>();
  readonly #closing = new AbortController();
  readonly #connect: Connector;

  constructor(connect: Connector) {
    // Every connection that is being opened adds a listener, so a large number is not a leak.
    setMaxListeners(0, this.#closing.signal);
    this.#connect = connect;
  }

  /** For requests without a body. */
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
