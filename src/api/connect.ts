import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { bareHost, isLoopbackHost, thisMachineLookup } from "./address.ts";
import { type Proxies, ProxyError, type ProxyInUse, proxyFor, proxyLogin } from "./proxies.ts";

/** Timeout of each step of opening a connection. */
const STEP_TIMEOUT_MS = 10_000;
/** Tries the next address of a name in parallel if the previous one has not connected after 1 s. */
const TRY_ADDRESSES = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

const KEEP_ALIVE_AFTER_MS = 60_000;

/** Opens a connection to the host of a URL. Rejects with the signal's reason on abort. */
export type Connector = (target: URL, signal: AbortSignal) => Promise<Socket>;

export interface ConnectOptions {
  /** Proxies from the environment; absent if every connection is direct. */
  proxies?: Proxies | undefined;
  /** Resolver for direct connections, which can refuse an address. Default: the system's resolver. */
  lookup?: LookupFunction | undefined;
}

/** TLS sessions by host. Resuming a session saves time, because each submit of a batch opens a new connection. */
const tlsSessions = new Map<string, Buffer>();

/**
 * Creates a connector that uses only Node's modules, because undici's connector would load much more code before a
 * submit. The connector rejects with the error of the connection, whose code is ETIMEDOUT if a step takes 10 s.
 */
export function connector({ proxies, lookup }: ConnectOptions = {}): Connector {
  return async (target, signal) => {
    signal.throwIfAborted();
    const proxy = proxyFor(target, proxies);
    return proxy === null
      ? connectDirect(target, lookup, signal)
      : connectThroughProxy(proxy, target, signal);
  };
}

function connectDirect(
  target: URL,
  lookup: LookupFunction | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const to = { ...TRY_ADDRESSES, host: connectHost(target), port: connectPort(target), lookup };
  if (target.protocol === "https:") return openTls(target, to, signal);
  if (isLoopbackHost(to.host)) to.lookup = thisMachineLookup(lookup);
  return waitUntilOpen(connectTcp(to), "connect", signal);
}

/** Opens a tunnel, even for an `http:` target. The address is not checked, because the proxy resolves the name. */
async function connectThroughProxy(proxy: ProxyInUse, target: URL, signal: AbortSignal): Promise<Socket> {
  const url = new URL(proxy.url);
  const socket = await connectDirect(url, undefined, signal).catch((error) => {
    throw signal.aborted ? error : new ProxyError(proxy, error);
  });
  await requestTunnel(socket, url, target, signal);
  return target.protocol === "https:" ? openTls(target, { socket }, signal) : socket;
}

async function requestTunnel(socket: Socket, proxy: URL, target: URL, signal: AbortSignal): Promise<void> {
  const { request } = await import("node:http");
  const host = `${target.hostname}:${connectPort(target)}`;
  const login = proxyLogin(proxy);
  const headers = {
    host,
    connection: "keep-alive",
    ...(login !== null && { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
  };
  await step(socket, signal, (resolve, reject) => {
    const tunnelRequest = request({ method: "CONNECT", path: host, headers, createConnection: () => socket });
    tunnelRequest.once("error", reject);
    tunnelRequest.once("connect", ({ statusCode }, _socket, rest) => {
      if (statusCode !== 200) socket.destroy(new Error(`the proxy answered HTTP ${statusCode}`));
      else {
        if (rest.length > 0) socket.unshift(rest);
        resolve();
      }
    });
    tunnelRequest.end();
  });
}

type SocketOptions = { socket: Socket } | { host: string; port: number; lookup: LookupFunction | undefined };

async function openTls(target: URL, socketOptions: SocketOptions, signal: AbortSignal): Promise<Socket> {
  const tls = await import("node:tls");
  const host = connectHost(target);
  const socket = tls.connect({
    ...socketOptions,
    // TLS server names cannot be IP addresses (RFC 6066, section 3).
    ...(isIP(host) === 0 && { servername: bareHost(host) }),
    session: tlsSessions.get(target.host),
    ALPNProtocols: ["http/1.1"],
  });
  socket.on("session", (session) => tlsSessions.set(target.host, session));
  return waitUntilOpen(socket, "secureConnect", signal);
}

/** Removes the brackets of an IPv6 address. Keeps a final dot, which excludes the network's search domains. */
function connectHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function connectPort({ protocol, port }: URL): number {
  return Number(port || (protocol === "https:" ? 443 : 80));
}

async function waitUntilOpen(
  socket: Socket,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<Socket> {
  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
  // This listener is never removed, because an error event without a listener would end the program.
  socket.on("error", () => {});
  await step(socket, signal, (resolve) => void socket.once(event, resolve));
  return socket;
}

/** Runs one step of opening a connection. Destroys the socket on a timeout or abort. */
function step(
  socket: Socket,
  signal: AbortSignal,
  begin: (resolve: () => void, reject: (error: Error) => void) => void,
): Promise<void> {
  const giveUp = () => socket.destroy(signal.reason);
  const timer = setTimeout(() => {
    socket.destroy(Object.assign(new Error("the connection timed out"), { code: "ETIMEDOUT" }));
  }, STEP_TIMEOUT_MS);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  return new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
    begin(resolve, reject);
  }).finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  });
}
