import type { buildConnector, Dispatcher } from "undici";
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import Pool from "undici/lib/dispatcher/pool.js";

/** Proxies as the environment names them; an empty text is none. */
export interface Proxies {
  /** `HTTP_PROXY` */
  http: string;
  /** `HTTPS_PROXY` */
  https: string;
  /** `NO_PROXY`: hosts to be reached directly, separated by commas. */
  except: string;
}

/** Proxies from the environment, lower-case names first, as everywhere; undefined where none is set. */
export function proxiesFromEnvironment(env: Record<string, string | undefined>): Proxies | undefined {
  const http = env.http_proxy || env.HTTP_PROXY || "";
  const https = env.https_proxy || env.HTTPS_PROXY || "";
  const except = env.no_proxy ?? env.NO_PROXY ?? "";
  return http || https ? { http, https, except } : undefined;
}

/**
 * A dispatcher that speaks CONNECT to a proxy, for `http:` targets too, so that a proxy never sees the key.
 */
export function proxyAgent(proxies: Proxies, settings: { connect: buildConnector.BuildOptions }): Dispatcher {
  return new EnvHttpProxyAgent({
    ...settings,
    requestTls: settings.connect,
    proxyTls: settings.connect,
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
