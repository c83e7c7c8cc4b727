import { UsageError } from "./error-types.ts";
import { withoutQuery } from "./redact.ts";
import type { Wording } from "./wording.ts";

/** Parameter names that end like a secret's: `api_key`, `accessToken`, `X-Amz-Signature`. */
const SECRET_NAME =
  /(?:key|token|sig|signature|secret|password|passwd|pwd|credentials?)$|^(?:pass|auth|code)$/i;

/** The first parameter in a query or fragment with the name of a secret; null if there is none. */
function secretParameter(url: string): string | null {
  for (const [, name = ""] of url.matchAll(/[?&#;]([^=&#;?]+)=[^&#;]/g))
    if (SECRET_NAME.test(decoded(name))) return name;
  return null;
}

function decoded(name: string): string {
  return new URLSearchParams(`${name}=`).keys().next().value ?? name;
}

/**
 * Refuses an address with a key in its query: addresses are recorded with every task, and shown.
 * @param way the right way to pass the key
 * @throws UsageError
 */
export function refuseQuerySecret(url: string, label: string, way: Wording): void {
  const name = secretParameter(url);
  if (name === null) return;
  throw new UsageError(`${label} has a key in its query (${name}=…), where it would be recorded and shown.`, {
    hint: ["Nothing was sent.", way],
  });
}

/** An address for display, without its query, which may hold a secret. */
export function shownAddress(address: string): string {
  return address.startsWith("command:") ? address : withoutQuery(address);
}
