import { isDeepStrictEqual } from "node:util";
import type { Destination } from "./destination.ts";
import type { GenerationRequest } from "./request.ts";

/** The account that a task is charged to. */
export interface ServiceIdentity {
  baseUrl: string;
  /** Fingerprint of the API key; the key itself is never written down here. */
  keyId: string;
}

/** How tasks of the embedded sandbox name their service: its address changes at each start. */
export const SANDBOX_SERVICE = "sandbox";

/** What is about to be submitted, and everything that another process needs to finish it. */
export interface Intent {
  request: GenerationRequest;
  service: ServiceIdentity;
  /** Documented cost; null if the service's document gives none. */
  credits: number | null;
  destination: Destination;
}

/** Whether two intents are the same request to the same account. */
export function isSameRequest(
  a: Pick<Intent, "request" | "service">,
  b: Pick<Intent, "request" | "service">,
): boolean {
  return isDeepStrictEqual([a.request, a.service], [b.request, b.service]);
}
