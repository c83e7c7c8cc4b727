import { UsageError } from "../lib/error-types.ts";
import { isLoopbackHost } from "./address.ts";
import { parseNoProxy } from "./no-proxy.ts";

/** Proxies from the environment. An empty string means that the variable is not set. */
export interface Proxies {
  /** `HTTP_PROXY` */
  http: string;
  /** `HTTPS_PROXY` */
  https: string;
  /** `NO_PROXY`: hosts that are reached without a proxy, in the syntax of `parseNoProxy`. */
  except: string;
  /** Names of the variables, for messages. */
  variables?: { http: string; https: string; except: string };
}

/** The proxy of a connection, and the environment variable that sets the proxy. */
export interface ProxyInUse {
  url: string;
  variable: string;
}

/**
 * A proxy could not be reached, because its address is wrong or the proxy is down. The connector throws this error with
 * the reason as `cause`, so a failed exchange has both errors among its causes.
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
 * Reads the proxies from the environment; undefined if no proxy is set. As in other programs, a variable in lower case
 * overrides the variable in upper case.
 * @throws UsageError if a variable is not the address of a proxy
 */
export function proxiesFromEnvironment(env: Environment): Proxies | undefined {
  const http = variableName("HTTP_PROXY", env);
  const https = variableName("HTTPS_PROXY", env);
  const except = env.no_proxy === undefined ? "NO_PROXY" : "no_proxy";
  const proxies = { http: proxyAddress(http, env), https: proxyAddress(https, env) };
  if (proxies.http === "" && proxies.https === "") return undefined;
  return { ...proxies, except: env[except] ?? "", variables: { http, https, except } };
}

/** Returns the variable's name in lower case if that variable has a value, otherwise in upper case. */
function variableName(variable: string, env: Environment): string {
  const lowerCaseName = variable.toLowerCase();
  return env[lowerCaseName] ? lowerCaseName : variable;
}

/**
 * Returns the proxy for a URL, or null for a direct connection. Connections to this machine are always direct, because
 * a proxy on another machine would connect to its own machine.
 */
export function proxyFor(url: URL, proxies: Proxies | undefined): ProxyInUse | null {
  const scheme = url.protocol === "https:" ? "https" : "http";
  const address = proxies?.[scheme];
  if (!proxies || !address || isLoopbackHost(url.hostname)) return null;
  if (parseNoProxy(proxies.except).covers(url)) return null;
  return { url: address, variable: proxies.variables?.[scheme] ?? `${scheme.toUpperCase()}_PROXY` };
}

/** Headers without secrets. Any other header might contain a key, because users can set headers. */
const SECRET_FREE_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "range",
  "user-agent",
  "x-client-request-id",
]);

/**
 * Whether a request is allowed to use a proxy. A request with a key over plain http: is not allowed, because the proxy
 * could read the key.
 */
export function mayBeProxied({ protocol }: URL, headers: Readonly<Record<string, string>>): boolean {
  return (
    protocol === "https:" || Object.keys(headers).every((name) => SECRET_FREE_HEADERS.has(name.toLowerCase()))
  );
}

/**
 * Returns the login in a proxy's URL as `user:password`, for `Proxy-Authorization`; null if the user name and the
 * password are missing.
 */
export function proxyLogin({ username, password }: URL): string | null {
  return username === "" && password === ""
    ? null
    : `${decodePercents(username)}:${decodePercents(password)}`;
}

/**
 * Decodes percent escapes, and keeps a `%` that does not begin an escape. Returns the text unchanged if the decoded
 * bytes are not UTF-8.
 */
function decodePercents(text: string): string {
  try {
    return decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    return text;
  }
}

/** Parses the URL of a proxy. The default scheme is http:, as in curl. @throws UsageError */
function proxyAddress(variable: string, env: Environment): string {
  const text = (env[variable] ?? "").trim();
  if (text === "") return "";
  const [, scheme = "http://", login = "", host = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(?:(.*)@)?(.*)$/is.exec(text) ?? [];
  // Separators of URLs are escaped in the login, because a password can contain them.
  const address = `${scheme}${login && `${login.replace(/[/?#@\\[\]\s]/g, encodeURIComponent)}@`}${host}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new UsageError(`${variable} is not the address of an http: or https: proxy.`, {
    hint: "Nothing was sent. It should look like http://proxy.example:3128",
  });
}
