import { UsageError } from "../lib/error-types.ts";
import { isLoopbackHost } from "./address.ts";
import { parseNoProxy } from "./no-proxy.ts";

/** Proxies from the environment; empty text: none. */
export interface Proxies {
  /** `HTTP_PROXY` */
  http: string;
  /** `HTTPS_PROXY` */
  https: string;
  /** `NO_PROXY`: hosts that are reached directly, see `parseNoProxy`. */
  except: string;
  /** The variables that they come from, for messages. */
  variables?: { http: string; https: string; except: string };
}

/** The proxy of a connection, and the variable that names it. */
export interface ProxyInUse {
  url: string;
  variable: string;
}

/**
 * A proxy could not be reached: its address is wrong, or it is down. Thrown by the connector. It is among the causes of a
 * failed exchange; its own `cause` says why.
 */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** Its host and port. */
  readonly host: string;
  /** The variable that names it. */
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

/** The spelling of a variable that counts. */
function variableName(variable: string, env: Environment): string {
  const small = variable.toLowerCase();
  return env[small] ? small : variable;
}

/**
 * The proxy that a connection to this URL goes through; null if it is direct. One to this machine always is: a proxy on
 * another machine would connect to itself.
 */
export function proxyFor(url: URL, proxies: Proxies | undefined): ProxyInUse | null {
  const scheme = url.protocol === "https:" ? "https" : "http";
  const address = proxies?.[scheme];
  if (!proxies || !address || isLoopbackHost(url.hostname)) return null;
  if (parseNoProxy(proxies.except).covers(url)) return null;
  return { url: address, variable: proxies.variables?.[scheme] ?? `${scheme.toUpperCase()}_PROXY` };
}

/** The headers that say nothing secret. Any other may hold a key, such as those that the user has set. */
const OPEN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "range",
  "user-agent",
  "x-client-request-id",
]);

/**
 * Whether a request may go through a proxy: not with a key over plain http:, which a proxy could read, as it could what
 * comes back.
 */
export function mayBeProxied({ protocol }: URL, headers: Readonly<Record<string, string>>): boolean {
  return protocol === "https:" || Object.keys(headers).every((name) => OPEN_HEADERS.has(name.toLowerCase()));
}

/**
 * The user name and password in a proxy's URL, for `Proxy-Authorization`; null for none. Either may be missing, and a `%`
 * that encodes nothing stands for itself.
 */
export function proxyLogin({ username, password }: URL): string | null {
  return username === "" && password === "" ? null : `${decoded(username)}:${decoded(password)}`;
}

/** Decodes percent signs. A text that is not UTF-8 then is kept as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    return text;
  }
}

/** A proxy's URL; without a scheme it is an http: one, as for curl. */
function proxyAddress(variable: string, env: Environment): string {
  const text = (env[variable] ?? "").trim();
  if (text === "") return "";
  const [, scheme = "http://", login = "", host = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(?:(.*)@)?(.*)$/is.exec(text) ?? [];
  // A password may hold what would end it in a URL.
  const address = `${scheme}${login && `${login.replace(/[/?#@\\[\]\s]/g, encodeURIComponent)}@`}${host}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new UsageError(`${variable} is not the address of an http: or https: proxy.`, {
    hint: "Nothing was sent. It should look like http://proxy.example:3128",
  });
}
