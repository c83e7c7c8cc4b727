import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import undiciConnector from "undici/lib/core/connect.js";

/** How every connection of ours is made. Times in milliseconds. */
export const CONNECT = { timeout: 10_000, autoSelectFamilyAttemptTimeout: 1000 };

const connect = undiciConnector(CONNECT);

/**
 * A connection to the service, begun before there is anything to send over it: while the program still loads what
 * sends it. It is the first try of the first request: where it failed, that hears so.
 */
export class EarlyConnection {
  readonly #origin: string;
  #socket: Promise<Socket> | null;

  constructor(service: URL) {
    const { origin, protocol, host, port } = service;
    const hostname = service.hostname.replace(/^\[|\]$/g, "");
    this.#origin = origin;
    this.#socket = new Promise((resolve, reject) => {
      connect({ protocol, host, hostname, port }, (error, socket) =>
        error ? reject(error) : resolve(socket),
      );
    });
    // Whoever never asks need not hear of it.
    this.#socket.catch(() => {});
  }

  /** Connects over it, as long as it lasts, and anew for whoever comes after. */
  readonly connector: buildConnector.connector = (options, callback) => {
    this.#take(`${options.protocol}//${options.host}`).then(
      (socket) => (socket ? callback(null, socket) : connect(options, callback)),
      (error) => callback(error, null),
    );
  };

  /**
   * The connection, for the first who asks; null for all others, where it leads elsewhere, or was closed since.
   * @throws what kept it from being made
   */
  async #take(origin: string): Promise<Socket | null> {
    if (origin !== this.#origin) return null;
    const taken = this.#socket;
    this.#socket = null;
    const socket = await taken;
    return socket?.readyState === "open" ? socket : null;
  }

  /** Closes it, unless it was taken; where it is still on its way, once it is there: nobody waits for that. */
  close(): void {
    const untaken = this.#socket;
    this.#socket = null;
    untaken?.then(
      (socket) => socket.destroy(),
      () => {},
    );
  }
}
