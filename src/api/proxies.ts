import { UsageError } from "../lib/errors.ts";

/** Proxies from the environment; empty text: none. */
export interface Proxies {
  /** `HTTP_PROXY` */
  http: string;
  /** `HTTPS_PROXY` */
  https: string;
  /** `NO_PROXY`: comma-separated hosts that are reached directly. */
  except: string;
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

/** A proxy's URL; without a scheme it is an http: one, as for curl. */
function proxyAddress(variable: string, text: string): string {
  if (text === "") return "";
  const address = text.includes("://") ? text : `http://${text}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new UsageError(`${variable} is not the address of an http: or https: proxy.`, {
    hint: "Nothing was sent. It should look like http://proxy.example:3128",
  });
}
