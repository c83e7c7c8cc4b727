import { isDeepStrictEqual } from "node:util";
import type { Destination } from "./destination.ts";
import type { GenerationRequest } from "./request.ts";

/** The account a task was bought from. */
export interface ServiceIdentity {
  baseUrl: string;
  /** Fingerprint of the API key; the key itself is never written down here. */
  keyId: string;
}

/** What is to be bought, and everything needed to finish it in another process. */
export interface Intent {
  request: GenerationRequest;
  service: ServiceIdentity;
  /** Documented cost; null where the service's document gives none. */
  credits: number | null;
  destination: Destination;
}

/** Whether two tasks were to buy the very same thing of the same account. */
export function isSameRequest(
  a: Pick<Intent, "request" | "service">,
  b: Pick<Intent, "request" | "service">,
): boolean {
  return isDeepStrictEqual([a.request, a.service], [b.request, b.service]);
}
