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
