import type { Socket } from "node:net";
import type { buildConnector, Client, Dispatcher, Pool } from "undici";
import UndiciClient from "undici/lib/dispatcher/client.js";
import type { DispatchOptions } from "./undici-settings.ts";

/** Makes the clients of a pool. @param connect opens their connections */
export function pausableClients(connect: buildConnector.connector): NonNullable<Pool.Options["factory"]> {
  return (origin, options) => new PausableClient(origin, { ...options, connect });
}

/**
 * undici's client of one connection, whose replies are paused without undici: while its own parser is paused, undici
 * (7.30) throws from a socket event if the connection ends, and nothing can catch that. Here the connection is not read
 * from meanwhile, and undici learns of its end after the last byte.
 */
class PausableClient extends UndiciClient {
  readonly #reads: PausableReads;

  constructor(origin: URL, { connect, ...options }: Client.Options & { connect: buildConnector.connector }) {
    const reads = new PausableReads();
    super(origin, { ...options, connect: reads.of(connect) });
    this.#reads = reads;
  }

  override dispatch(options: DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    options.onFlow?.(this.#reads);
    return super.dispatch(options, handler);
  }
}

/** The reads of one connection at a time: undici takes what has arrived with `read()`, at each `readable` event. */
class PausableReads {
  #isPaused = false;
  #socket: Socket | null = null;

  /** A connector whose connections are paused here. */
  of(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result: buildConnector.CallbackArgs) => {
        const [, socket] = result;
        if (socket) this.#watch(socket);
        callback(...result);
      });
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket?.emit("readable");
  }

  #watch(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = () => (this.#isPaused ? null : read());
    this.#socket = socket;
    this.#isPaused = false;
  }
}
