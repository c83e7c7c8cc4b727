import { ImggenError } from "../../lib/error-types.ts";
import type { ServiceIdentity } from "../../task/intent.ts";

/** A task belongs to another account than the configured one. Nothing was sent. */
export class OtherAccountError extends ImggenError {
  readonly type = "usage";
}

/** @throws OtherAccountError if a task's account is not the configured one, saying what is needed */
export function requireSameAccount(own: ServiceIdentity, atHand: ServiceIdentity, taskId: string): void {
  if (own.baseUrl !== atHand.baseUrl) {
    throw new OtherAccountError(`Task ${taskId} is at ${own.baseUrl}, not at ${atHand.baseUrl}.`, {
      hint: `Set IMGGEN_BASE_URL=${own.baseUrl} (and the key it was submitted with) and try again.`,
      charged: "yes",
    });
  }
  if (own.keyId !== atHand.keyId) {
    throw new OtherAccountError(`Task ${taskId} was submitted with another API key.`, {
      hint: "Set IMGGEN_API_KEY to that key and try again.",
      charged: "yes",
    });
  }
}
