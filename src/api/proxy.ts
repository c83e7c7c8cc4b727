import type { LookupFunction } from "node:net";
import type { buildConnector, Pool } from "undici";
import undiciConnect from "undici/lib/api/api-connect.js";
import undiciConnector from "undici/lib/core/connect.js";
import UndiciProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import { CONNECT_TIMEOUT_MS, TRY_ADDRESSES } from "./connect.ts";
import type { Sender } from "./exchange.ts";
import { skippingInterim } from "./interim.ts";
import { pausableClients } from "./pausable-client.ts";
import type { Proxies } from "./proxies.ts";
import { DISPATCHER, dispatchOptions } from "./undici-settings.ts";

interface PoolOptions {
  connect?: buildConnector.BuildOptions | buildConnector.connector;
}

/**
 * Sends requests through proxies, with CONNECT even to `http:` targets, so that a proxy never sees the key.
 * @param lookup for targets that the proxies are not used for
 */
export function throughProxies(proxies: Proxies, lookup: LookupFunction | undefined): Sender {
  // The proxy resolves the target's name, and the proxy's own address is the user's choice: no address guard here.
  const connect: buildConnector.BuildOptions = { timeout: CONNECT_TIMEOUT_MS, ...TRY_ADDRESSES };
  const agent = new UndiciProxyAgent({
    ...DISPATCHER,
    connect: { ...connect, lookup },
    requestTls: connect,
    proxyTls: connect,
    proxyTunnel: true,
    httpProxy: proxies.http,
    httpsProxy: proxies.https,
    noProxy: proxies.except,
    clientFactory: poolOfProxy,
    factory: (origin: URL, options: PoolOptions) =>
      new UndiciPool(origin, { ...options, factory: pausableClients(connectorOf(options.connect)) }),
  });
  return {
    dispatch: (request, exchange) => void agent.dispatch(dispatchOptions(request, exchange), exchange),
    destroy: () => agent.destroy(),
  };
}

/** The connections to a proxy itself. undici's entry point gives every dispatcher this method; no other needs it. */
function poolOfProxy(proxy: URL, options: object): Pool {
  return Object.assign(new UndiciPool(proxy, options), { connect: undiciConnect });
}

/** undici passes a function if it connects through a proxy, and options if it connects directly. */
function connectorOf(connect: PoolOptions["connect"]): buildConnector.connector {
  return skippingInterim(
    typeof connect === "function" ? withFinalErrors(connect) : undiciConnector(connect ?? {}),
  );
}

/**
 * undici treats a connector's UND_ERR_SOCKET as transient and reconnects at once, without end: with a proxy that closes
 * the connection on CONNECT, that is a busy loop. With another name the error ends the request.
 */
function withFinalErrors(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (error, socket) => {
      if (error) callback(new Error(`proxy: ${error.message}`, { cause: error }), null);
      else callback(null, socket);
    });
}
