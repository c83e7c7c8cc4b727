import { UsageError } from "../lib/error-types.ts";
import { isLoopbackHost } from "./address.ts";
import { parseNoProxy } from "./no-proxy.ts";

/** Proxies from the environment. An empty string means that the variable is not set. */
export interface Proxies {
  http: string;
  https: string;
  /** `NO_PROXY`: hosts that are reached without a proxy, in the syntax of `parseNoProxy`. */
  except: string;
  /** Names of the variables, for messages. */
  variables?: { http: string; https: string; except: string };
}

/** The proxy of a connection, and the environment variable that sets it. */
export interface ProxyInUse {
  url: string;
  variable: string;
}

/** A proxy could not be reached. The reason is the `cause`. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** Host and port of the proxy. */
  readonly host: string;
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
 * Reads the proxies from the environment. As in other programs, a variable in lower case takes precedence.
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

/** Returns the name in lower case if that variable has a value, otherwise in upper case. */
function variableName(variable: string, env: Environment): string {
  const lowerCaseName = variable.toLowerCase();
  return env[lowerCaseName] ? lowerCaseName : variable;
}

/**
 * Returns the proxy for a URL, or null. Null for this machine, because a proxy would connect to its own machine
 * instead.
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

/** Whether a request may use a proxy. False for a key over plain http:, because the proxy could read the key. */
export function mayBeProxied({ protocol }: URL, headers: Readonly<Record<string, string>>): boolean {
  return (
    protocol === "https:" || Object.keys(headers).every((name) => SECRET_FREE_HEADERS.has(name.toLowerCase()))
  );
}

/** Returns the login in a proxy's URL as `user:password`, for `Proxy-Authorization`, or null. */
export function proxyLogin({ username, password }: URL): string | null {
  return username === "" && password === ""
    ? null
    : `${decodePercents(username)}:${decodePercents(password)}`;
}

/** Decodes percent escapes, keeping other `%`. Returns the text unchanged if the bytes are not UTF-8. */
function decodePercents(text: string): string {
  try {
    return decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, "%25"));
  } catch {
    return text;
  }
}

/** Parses the URL of a proxy. As in curl, the default scheme is http:. @throws UsageError */
function proxyAddress(variable: string, env: Environment): string {
  const text = (env[variable] ?? "").trim();
  if (text === "") return "";
  const [, scheme = "http://", login = "", host = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(?:(.*)@)?(.*)$/is.exec(text) ?? [];
  // Separators of URLs are escaped in the login, because a password can contain them.
  const address = `${scheme}${login && `${login.replace(/[/?#@\\[\]\s]/g, encodeURIComponent)}@`}${host}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new UsageError(`${variable} is not the address of an http: or https: proxy.`, {
    hint: "Nothing was sent. Example: http://proxy.example:3128",
  });
}
