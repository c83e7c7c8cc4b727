import { UsageError } from "../lib/error-types.ts";

/** Proxies from the environment; empty text: none. */
export interface Proxies {
  /** `HTTP_PROXY` */
  http: string;
  /** `HTTPS_PROXY` */
  https: string;
  /** `NO_PROXY`: comma-separated hosts that are reached directly. */
  except: string;
}

/** A proxy could not be reached: its own address is wrong, or it is down. The cause says why. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** Its host and port. */
  readonly host: string;

  constructor({ host }: URL, cause: unknown) {
    super(`no connection to the proxy at ${host}`, { cause });
    this.host = host;
  }
}

/**
 * Proxies from the environment, lower-case names first, as usual; undefined if none is set.
 * @throws UsageError if one is not a proxy's address
 */
export function proxiesFromEnvironment(env: Record<string, string | undefined>): Proxies | undefined {
  const http = proxyAddress("HTTP_PROXY", env.http_proxy || env.HTTP_PROXY || "");
  const https = proxyAddress("HTTPS_PROXY", env.https_proxy || env.HTTPS_PROXY || "");
  const except = env.no_proxy ?? env.NO_PROXY ?? "";
  return http || https ? { http, https, except } : undefined;
}

/** The proxy that a connection to this URL goes through; null if it is direct. */
export function proxyFor(url: URL, proxies: Proxies | undefined): string | null {
  const proxy = (url.protocol === "https:" ? proxies?.https : proxies?.http) || null;
  return proxy === null || isExcepted(url, proxies?.except ?? "") ? null : proxy;
}

/** Reads NO_PROXY as the proxy agent does: hosts and the names below them, each with a port or without; `*` for all. */
function isExcepted({ hostname, port, protocol }: URL, except: string): boolean {
  if (except === "*") return true;
  const ownPort = port || (protocol === "https:" ? "443" : "80");
  return except.split(/[,\s]/).some((entry) => {
    const [, host = entry, onlyPort = ownPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const name = host.replace(/^\*?\./, "").toLowerCase();
    return entry !== "" && onlyPort === ownPort && (hostname === name || hostname.endsWith(`.${name}`));
  });
}

/** A proxy's URL; without a scheme it is an http: one, as for curl. */
function proxyAddress(variable: string, text: string): string {
  if (text === "") return "";
  const address = text.includes("://") ? text : `http://${text}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new UsageError(`${variable} is not the address of an http: or https: proxy.`, {
    hint: "Nothing was sent. It should look like http://proxy.example:3128",
  });
}
