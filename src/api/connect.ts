import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { bareHost } from "./host.ts";

/** How long a connection may take to make. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** How long each address of a name has before the next is tried too, in milliseconds. */
export const TRY_ADDRESSES = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

const KEEP_ALIVE_AFTER_MS = 60_000;

/** A way to make connections. */
export type Connector = (target: URL) => Promise<Socket>;

/**
 * A way to make connections by Node alone: undici's own loads a tenth of all the code that a submit needs.
 * TLS sessions are resumed, because a batch of submits makes a connection for each.
 * @param lookup resolves host names. Default: the system's
 * @returns a connector, which rejects with the error of the connection, with the code ETIMEDOUT after 10 s
 */
export function connector(lookup?: LookupFunction): Connector {
  const sessions = new Map<string, Buffer>();
  return async (target) => {
    const host = bareHost(target.hostname);
    const options = { ...TRY_ADDRESSES, host, lookup };
    if (target.protocol !== "https:") {
      return whenOpen(connectTcp({ ...options, port: Number(target.port || 80) }), "connect");
    }
    const tls = await import("node:tls");
    const socket = tls.connect({
      ...options,
      port: Number(target.port || 443),
      // The protocol has no addresses in the place of names.
      ...(isIP(host) === 0 && { servername: host }),
      session: sessions.get(target.host),
      ALPNProtocols: ["http/1.1"],
    });
    socket.on("session", (session) => sessions.set(target.host, session));
    return whenOpen(socket, "secureConnect");
  };
}

/** The socket, once it is open: until then an error, or the time-out, ends it. */
function whenOpen(socket: Socket, event: "connect" | "secureConnect"): Promise<Socket> {
  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error("the connection timed out"), { code: "ETIMEDOUT" }));
    }, CONNECT_TIMEOUT_MS);
    socket.once(event, () => resolve(socket));
    // Stays for as long as the socket: an error of an open one that nothing uses yet must not end the program.
    socket.on("error", reject);
    for (const end of [event, "close"]) socket.once(end, () => clearTimeout(timer));
  });
}
