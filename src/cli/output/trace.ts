import type { HttpClientOptions } from "../../api/client.ts";
import { formatDuration } from "../../lib/duration.ts";
import { withoutQuery } from "../../lib/redact.ts";
import type { Session } from "../app/session.ts";

/** What `--verbose` logs: a line for each exchange with the service, without queries and without the key; not under `--quiet`. */
export function traceOf({ options, console }: Session): HttpClientOptions["onExchange"] {
  if (!options.verbose) return undefined;
  return ({ method, url, result, elapsedMs }) => {
    void console.note(`${method} ${withoutQuery(url.href)}: ${result}, ${formatDuration(elapsedMs)}`);
  };
}
