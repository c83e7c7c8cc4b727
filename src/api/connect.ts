import { connect as connectTcp, isIP, type LookupFunction, type OnReadOpts, type Socket } from "node:net";
import { thisMachineLookup } from "./address.ts";
import { bareHost, isLoopbackHost } from "./host.ts";

/** How long a connection may take to make, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** How long each address of a name has before the next is tried too, in milliseconds. */
export const TRY_ADDRESSES = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

const KEEP_ALIVE_AFTER_MS = 60_000;

/** Opens a connection to a URL's host. If the signal is aborted before it is open, it rejects with the reason. */
export type Connector = (target: URL, signal: AbortSignal) => Promise<Socket>;

/** Opens a connection. @param onread takes what is read, in place of the stream */
export type Open = (onread?: OnReadOpts) => Socket;

/** TLS sessions by host, for resumption: each submit of a batch has a connection of its own. */
const tlsSessions = new Map<string, Buffer>();

/**
 * Makes a connector with node:net and node:tls only: undici's own would load a tenth of all the code that a submit
 * needs. It rejects with the connection's error, which has the code ETIMEDOUT after 10 s.
 * @param lookup resolves host names. Default: the system's
 * @param opened has a connection opened. Default: as Node does by itself
 */
export function connector(
  lookup?: LookupFunction,
  opened: (open: Open) => Socket = (open) => open(),
): Connector {
  return async (target, signal) => {
    signal.throwIfAborted();
    // A dot at the end of a name stays: it keeps the resolver from trying the name within other domains.
    const host = target.hostname.replace(/^\[|\]$/g, "");
    const options = { ...TRY_ADDRESSES, host, lookup };
    if (target.protocol !== "https:") {
      const port = Number(target.port || 80);
      if (isLoopbackHost(host)) options.lookup = thisMachineLookup(lookup);
      const socket = opened((onread) => connectTcp({ ...options, port, onread }));
      return whenOpen(socket, "connect", signal);
    }
    const tls = await import("node:tls");
    const open: Open = (onread) =>
      tls.connect({
        ...options,
        // A documented option, which the types do not have.
        ...{ onread },
        port: Number(target.port || 443),
        // TLS server names cannot be IP addresses (RFC 6066, section 3).
        ...(isIP(host) === 0 && { servername: bareHost(host) }),
        session: tlsSessions.get(target.host),
        ALPNProtocols: ["http/1.1"],
      });
    const socket = opened(open);
    socket.on("session", (session) => tlsSessions.set(target.host, session));
    return whenOpen(socket, "secureConnect", signal);
  };
}

/** The socket, once it is open: until then an error, the time-out or the signal ends it. */
function whenOpen(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal): Promise<Socket> {
  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
  return new Promise((resolve, reject) => {
    const giveUp = () => socket.destroy(signal.reason);
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error("the connection timed out"), { code: "ETIMEDOUT" }));
    }, CONNECT_TIMEOUT_MS);
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    socket.once(event, () => resolve(socket));
    // Stays for as long as the socket: an error of an open one that nothing uses yet must not end the program.
    socket.on("error", reject);
    for (const end of [event, "close"])
      socket.once(end, () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      });
  });
}
