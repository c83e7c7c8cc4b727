import { UsageError } from "./error-types.ts";
import { withoutQuery } from "./redact.ts";
import type { Wording } from "./wording.ts";

/** Ends of parameters' names that hold a key, a token or a signature: `api_key`, `accessToken`, `X-Amz-Signature`. */
const SECRET_NAME =
  /(?:key|token|sig|signature|secret|password|passwd|pwd|credentials?)$|^(?:pass|auth|code)$/i;

/** The first parameter in a URL's query or fragment whose name says that it holds a secret; null for none. */
function secretParameter(url: string): string | null {
  for (const [, name = ""] of url.matchAll(/[?&#;]([^=&#;?]+)=[^&#;]/g))
    if (SECRET_NAME.test(decoded(name))) return name;
  return null;
}

function decoded(name: string): string {
  return new URLSearchParams(`${name}=`).keys().next().value ?? name;
}

/**
 * Refuses a service's or generator's address with a key in its query: it is recorded with every task, and shown.
 * @param way how the key is given instead @throws UsageError
 */
export function refuseQuerySecret(url: string, label: string, way: Wording): void {
  const name = secretParameter(url);
  if (name === null) return;
  throw new UsageError(`${label} has a key in its query (${name}=…), where it would be recorded and shown.`, {
    hint: ["Nothing was sent.", way],
  });
}

/** A service's or generator's address for display: without its query, which may hold a secret under any name. */
export function shownAddress(address: string): string {
  return address.startsWith("command:") ? address : withoutQuery(address);
}
