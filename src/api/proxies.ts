import { UsageError } from "../lib/error-types.ts";
import { isLoopbackHost } from "./address.ts";
import { parseNoProxy } from "./no-proxy.ts";

/** Proxies from the environment; an empty string for none. */
export interface Proxies {
  /** `HTTP_PROXY` */
  http: string;
  /** `HTTPS_PROXY` */
  https: string;
  /** `NO_PROXY`: hosts that are reached directly, see `parseNoProxy`. */
  except: string;
  /** Names of the variables, for messages. */
  variables?: { http: string; https: string; except: string };
}

/** The proxy of a connection, and the variable that sets it. */
export interface ProxyInUse {
  url: string;
  variable: string;
}

/**
 * A proxy could not be reached: its address is wrong, or it is down. The connector throws it with the reason as `cause`, and
 * it is among the causes of a failed exchange.
 */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** Host and port of the proxy. */
  readonly host: string;
  /** Variable that sets the proxy. */
  readonly variable: string;

  constructor({ url, variable }: ProxyInUse, cause: unknown) {
    const { host } = new URL(url);
    super(`no connection to the proxy at ${host} (${variable})`, { cause });
    this.host = host;
    this.variable = variable;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Proxies from the environment, lower-case names first, as usual; undefined if none is set.
 * @throws UsageError if one is not a proxy's address
 */
export function proxiesFromEnvironment(env: Environment): Proxies | undefined {
  const http = variableName("HTTP_PROXY", env);
  const https = variableName("HTTPS_PROXY", env);
  const except = env.no_proxy === undefined ? "NO_PROXY" : "no_proxy";
  const proxies = { http: proxyAddress(http, env), https: proxyAddress(https, env) };
  if (proxies.http === "" && proxies.https === "") return undefined;
  return { ...proxies, except: env[except] ?? "", variables: { http, https, except } };
}

/** The spelling of a variable that is used: lower case if it is set. */
function variableName(variable: string, env: Environment): string {
  const small = variable.toLowerCase();
  return env[small] ? small : variable;
}

/**
 * Returns the proxy for a URL, or null for a direct connection. Connections to this machine are always direct, because a
 * proxy on another machine would connect to itself.
 */
export function proxyFor(url: URL, proxies: Proxies | undefined): ProxyInUse | null {
  const scheme = url.protocol === "https:" ? "https" : "http";
  const address = proxies?.[scheme];
  if (!proxies || !address || isLoopbackHost(url.hostname)) return null;
  if (parseNoProxy(proxies.except).covers(url)) return null;
  return { url: address, variable: proxies.variables?.[scheme] ?? `${scheme.toUpperCase()}_PROXY` };
}

/** Headers without secrets. Any other header may contain a key, for example one that the user has set. */
const OPEN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "range",
  "user-agent",
  "x-client-request-id",
]);

/**
 * Whether a request may use a proxy: not with a key over plain http:, because the proxy could read the key and the reply.
 */
export function mayBeProxied({ protocol }: URL, headers: Readonly<Record<string, string>>): boolean {
  return protocol === "https:" || Object.keys(headers).every((name) => OPEN_HEADERS.has(name.toLowerCase()));
}

/**
 * User name and password in a proxy's URL, for `Proxy-Authorization`; null for none. Either may be missing. A `%` that does
 * not begin an escape sequence is kept.
 */
export function proxyLogin({ username, password }: URL): string | null {
  return username === "" && password === "" ? null : `${decoded(username)}:${decoded(password)}`;
}

/** Decodes percent escapes. A string that would not be UTF-8 stays unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    return text;
  }
}

/** Parses the URL of a proxy. Without a scheme it is http:, as in curl. */
function proxyAddress(variable: string, env: Environment): string {
  const text = (env[variable] ?? "").trim();
  if (text === "") return "";
  const [, scheme = "http://", login = "", host = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(?:(.*)@)?(.*)$/is.exec(text) ?? [];
  // A password may contain characters that are separators in a URL.
  const address = `${scheme}${login && `${login.replace(/[/?#@\\[\]\s]/g, encodeURIComponent)}@`}${host}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new UsageError(`${variable} is not the address of an http: or https: proxy.`, {
    hint: "Nothing was sent. It should look like http://proxy.example:3128",
  });
}
