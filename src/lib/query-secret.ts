import { UsageError } from "./error-types.ts";
import { redactUrl } from "./redact.ts";
import type { Wording } from "./wording.ts";

/** Names of secret parameters: `api_key`, `accessToken`, `X-Amz-Signature`. */
const SECRET_NAME =
  /(?:key|token|sig|signature|secret|password|passwd|pwd|credentials?)$|^(?:pass|auth|code)$/i;

function secretParameter(url: string): string | null {
  for (const [, name = ""] of url.matchAll(/[?&#;]([^=&#;?]+)=[^&#;]/g))
    if (SECRET_NAME.test(decodeName(name))) return name;
  return null;
}

function decodeName(name: string): string {
  return new URLSearchParams(`${name}=`).keys().next().value ?? name;
}

/** Refuses an address with a key in its query, because addresses are recorded and shown. @throws UsageError */
export function refuseQuerySecret(url: string, label: string, advice: Wording): void {
  const name = secretParameter(url);
  if (name === null) return;
  throw new UsageError(`${label} has a key in its query (${name}=…), which would be recorded and shown.`, {
    hint: ["Nothing was sent.", advice],
  });
}

export function redactAddress(address: string): string {
  return address.startsWith("command:") ? address : redactUrl(address);
}
