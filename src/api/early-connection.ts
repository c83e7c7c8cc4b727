import type { Socket } from "node:net";
import buildConnector from "undici/lib/core/connect.js";

/** How every connection of ours is made. Times in milliseconds. */
export const CONNECT = { timeout: 10_000, autoSelectFamilyAttemptTimeout: 1000 };

/**
 * A connection to the service, begun before there is anything to send over it: while the program still loads what
 * sends it. Nothing depends on it. Where it fails, whoever asks for it connects anew, and hears what is wrong.
 */
export class EarlyConnection {
  readonly #origin: string;
  #socket: Promise<Socket | null>;

  constructor(service: URL) {
    const { origin, protocol, host, port } = service;
    const hostname = service.hostname.replace(/^\[|\]$/g, "");
    this.#origin = origin;
    this.#socket = new Promise((resolve) => {
      buildConnector(CONNECT)({ protocol, host, hostname, port }, (error, socket) =>
        resolve(error ? null : socket),
      );
    });
  }

  /** The connection, for the first who asks; null where there is none, or it leads elsewhere. */
  async take(origin: string): Promise<Socket | null> {
    if (origin !== this.#origin) return null;
    const taken = this.#socket;
    this.#socket = Promise.resolve(null);
    const socket = await taken;
    return socket?.readyState === "open" ? socket : null;
  }

  /** Closes it, unless it was taken. */
  async close(): Promise<void> {
    (await this.take(this.#origin))?.destroy();
  }
}
