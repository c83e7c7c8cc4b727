import type { Socket } from "node:net";
import { type Connector, connector } from "./connect.ts";

/**
 * A connection to the service that is opened before there is anything to send, while the program still loads the code
 * that sends. It counts as the first attempt of the first submit, which gets its error if it failed.
 */
export class EarlyConnection {
  readonly #origin: string;
  readonly #givenUp = new AbortController();
  #socket: Promise<Socket> | null;

  constructor(service: URL) {
    this.#origin = service.origin;
    this.#socket = connector()(service, this.#givenUp.signal);
    // If the connection is never used, its error does not matter.
    this.#socket.catch(() => {});
  }

  /** A connector that uses this connection once, if it is still open, and otherwise connects as `connectAnew` does. */
  connector(connectAnew: Connector): Connector {
    return async (target, signal) => (await this.#take(target.origin, signal)) ?? connectAnew(target, signal);
  }

  /**
   * The connection, for the first caller; null for all others, for another origin, and if it was closed since.
   * @throws the error of the connection
   */
  async #take(origin: string, signal: AbortSignal): Promise<Socket | null> {
    const taken = this.#socket;
    if (origin !== this.#origin || taken === null) return null;
    this.#socket = null;
    const giveUp = () => this.#givenUp.abort(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    const socket = await taken.finally(() => signal.removeEventListener("abort", giveUp));
    // Events that arrived while the program was busy are only handled now: in one turn of the event loop that it is
    // connected, in the next that bytes arrived. No request was sent yet, so a connection with bytes cannot be used.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
    if (socket.readyState === "open" && socket.readableLength === 0) return socket;
    socket.destroy();
    return null;
  }

  /** Closes it unless a request has it. If it is still connecting, it is closed once connected; this does not wait. */
  close(): void {
    const untaken = this.#socket;
    this.#socket = null;
    untaken?.then(
      (socket) => socket.destroy(),
      () => {},
    );
  }
}
