import { type ErrorFacts, ImggenError } from "../lib/error-types.ts";
import type { Wording } from "../lib/wording.ts";

/** The API key is missing, or the service refuses it (`login_required`, section 5). */
export class AuthRequiredError extends ImggenError {
  readonly type = "auth_required";
}

/** The balance does not cover the request (`my_credits.no_credits_description`, section 7). */
export class InsufficientCreditsError extends ImggenError {
  readonly type = "insufficient_credits";
}

/** The model needs a Pro or Premium subscription (403 `SUBSCRIPTION_REQUIRED`, section 2.2). */
export class SubscriptionRequiredError extends ImggenError {
  readonly type = "subscription_required";
}

/** The service found the request itself wrong (`empty_prompt`, `prompt_too_long`, HTTP 400, 404, 413, 422). */
export class RejectedRequestError extends ImggenError {
  readonly type = "invalid_request";
}

/** The service could not make the image. */
export class GenerationFailedError extends ImggenError {
  readonly type = "generation_failed";
}

/** Any other refusal: an unknown error key, a limit, an invalid reply. */
export class ServiceError extends ImggenError {
  readonly type = "service_error";
}

/** The service could not be reached, and it is certain that no request left this machine. */
export class NetworkError extends ImggenError {
  readonly type = "network";
}

/** A submit left this machine, and its reply was lost or invalid. It may have been accepted. */
export class OutcomeUnknownError extends ImggenError {
  readonly type = "outcome_unknown";
  /** A task id found in the invalid reply, which may be this request's. */
  readonly mentionedTaskId: string | null;

  constructor(
    message: Wording,
    facts: Omit<ErrorFacts, "charged"> & { mentionedTaskId?: string | null } = {},
  ) {
    super(message, { ...facts, charged: "unknown" });
    this.mentionedTaskId = facts.mentionedTaskId ?? null;
  }
}
