import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import undiciConnector from "undici/lib/core/connect.js";

/** How every connection of ours is made. Times in milliseconds. */
export const CONNECT = { timeout: 10_000, autoSelectFamilyAttemptTimeout: 1000 };

/**
 * A connection to the service, begun before there is anything to send over it: while the program still loads what
 * sends it. It is the first try of the first submit: where it failed, that hears so.
 */
export class EarlyConnection {
  readonly #origin: string;
  #socket: Promise<Socket> | null;

  constructor(service: URL) {
    const { origin, protocol, host, port } = service;
    const hostname = service.hostname.replace(/^\[|\]$/g, "");
    this.#origin = origin;
    this.#socket = new Promise((resolve, reject) => {
      undiciConnector(CONNECT)({ protocol, host, hostname, port }, (error, socket) =>
        error ? reject(error) : resolve(socket),
      );
    });
    // Whoever never asks need not hear of it.
    this.#socket.catch(() => {});
  }

  /** Connects over it, as long as it lasts, and anew, with these settings, for whoever comes after. */
  connector(settings: buildConnector.BuildOptions): buildConnector.connector {
    const connectAnew = undiciConnector(settings);
    return (options, callback) => {
      this.#take(`${options.protocol}//${options.host}`).then(
        (socket) => (socket ? callback(null, socket) : connectAnew(options, callback)),
        (error) => callback(error, null),
      );
    };
  }

  /**
   * The connection, for the first who asks; null for all others, where it leads elsewhere, or was closed since.
   * @throws what kept it from being made
   */
  async #take(origin: string): Promise<Socket | null> {
    if (origin !== this.#origin) return null;
    const taken = this.#socket;
    this.#socket = null;
    const socket = await taken;
    // What has come of it while the program was busy is only heard now: in one turn that it is there, in the next
    // that something came. Nobody was asked anything yet, so anything at all makes it a connection of no use.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
    return socket?.readyState === "open" && socket.readableLength === 0 ? socket : null;
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
