import { type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import undiciConnector from "undici/lib/core/connect.js";
import { skippingInterim } from "./interim.ts";
import type { Proxies } from "./proxies.ts";

interface PoolOptions {
  connect?: buildConnector.BuildOptions | buildConnector.connector;
}

/**
 * A dispatcher that speaks CONNECT to a proxy, for `http:` targets too, so that a proxy never sees the key.
 */
export function proxyAgent(proxies: Proxies, settings: { connect: buildConnector.BuildOptions }): Dispatcher {
  // Whoever resolves a target's name is the proxy; where the proxy itself is, the user has said.
  const connect: buildConnector.BuildOptions = { ...settings.connect, lookup: undefined };
  return new EnvHttpProxyAgent({
    ...settings,
    requestTls: connect,
    proxyTls: connect,
    proxyTunnel: true,
    httpProxy: proxies.http,
    httpsProxy: proxies.https,
    noProxy: proxies.except,
    factory: (origin: URL, options: PoolOptions) =>
      new Pool(origin, { ...options, connect: connectorOf(options.connect) }),
  });
}

/** undici hands on a function where it connects through a proxy, and options where it connects directly. */
function connectorOf(connect: PoolOptions["connect"]): buildConnector.connector {
  return skippingInterim(
    typeof connect === "function" ? withFinalErrors(connect) : undiciConnector(connect ?? {}),
  );
}

/**
 * undici takes a connector's UND_ERR_SOCKET for a hiccup and connects again at once, without end: with a
 * proxy that hangs up on CONNECT that is a busy loop. Under another name the error ends the request.
 */
function withFinalErrors(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (error, socket) => {
      if (error) callback(new Error(`proxy: ${error.message}`, { cause: error }), null);
      else callback(null, socket);
    });
}
