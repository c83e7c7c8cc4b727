import type { Socket } from "node:net";
import type { buildConnector, Client, Dispatcher, Pool } from "undici";
import UndiciClient from "undici/lib/dispatcher/client.js";
import type { DispatchOptions } from "./undici-settings.ts";

/** Makes the clients of a pool. @param connect opens their connections */
export function heldClients(connect: buildConnector.connector): NonNullable<Pool.Options["factory"]> {
  return (origin, options) => new HeldClient(origin, { ...options, connect });
}

/**
 * undici's client of one connection, whose replies are paused without undici: while its own parser is paused, undici
 * (7.30) throws from a socket event if the connection ends, and nothing can catch that. Here the connection is not read
 * from meanwhile, and undici learns of its end after the last byte.
 */
class HeldClient extends UndiciClient {
  readonly #reads: HeldReads;

  constructor(origin: URL, { connect, ...options }: Client.Options & { connect: buildConnector.connector }) {
    const reads = new HeldReads();
    super(origin, { ...options, connect: reads.holding(connect) });
    this.#reads = reads;
  }

  override dispatch(options: DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    options.onFlow?.(this.#reads);
    return super.dispatch(options, handler);
  }
}

/** The reads of one connection at a time: undici takes what has arrived with `read()`, at each `readable` event. */
class HeldReads {
  #isHeld = false;
  #socket: Socket | null = null;

  /** A connector whose connections are held back here. */
  holding(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result: buildConnector.CallbackArgs) => {
        const [, socket] = result;
        if (socket) this.#hold(socket);
        callback(...result);
      });
  }

  pause(): void {
    this.#isHeld = true;
  }

  resume(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#socket?.emit("readable");
  }

  #hold(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = () => (this.#isHeld ? null : read());
    this.#socket = socket;
    this.#isHeld = false;
  }
}
