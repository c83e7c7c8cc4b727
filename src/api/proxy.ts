import { type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import type { Proxies } from "./proxies.ts";

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
    factory: (origin: URL, options: object) => new Pool(origin, withFinalErrors(options)),
  });
}

/**
 * undici takes a connector's UND_ERR_SOCKET for a hiccup and connects again at once, without end: with a
 * proxy that hangs up on CONNECT that is a busy loop. Under another name the error ends the request.
 */
function withFinalErrors(options: { connect?: unknown }): Pool.Options {
  const { connect } = options;
  if (typeof connect !== "function") return options as Pool.Options;
  const connector = (target: buildConnector.Options, callback: buildConnector.Callback) =>
    connect(target, (error: Error | null, socket: unknown) => {
      if (error) callback(new Error(`proxy: ${error.message}`, { cause: error }), null);
      else callback(null, socket as Parameters<buildConnector.Callback>[1] & object);
    });
  return { ...options, connect: connector } as Pool.Options;
}
