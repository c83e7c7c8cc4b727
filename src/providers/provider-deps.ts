import type { HttpClientOptions } from "../api/http-client.ts";
import type { Proxies } from "../api/proxies.ts";
import type { Clock } from "../lib/clock.ts";

/** What a provider may need of the process that it runs in. */
export interface ProviderDeps {
  env: Readonly<Record<string, string | undefined>>;
  proxies: Proxies | undefined;
  clock: Clock;
  /** Where what is learned of a service's models is kept for a day; absent: nowhere. */
  cacheFolder?: string | undefined;
  /** Where private copies of workflows are kept; absent: no task is begun, and none is kept. */
  workflows?: string | undefined;
  /** Called for every HTTP exchange with a server, for `--verbose`. */
  onExchange?: HttpClientOptions["onExchange"];
}
