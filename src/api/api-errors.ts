import { type Charged, type ErrorFacts, ImggenError } from "../lib/error-types.ts";
import type { Wording } from "../lib/wording.ts";

/** The API key is missing or refused (`login_required`, section 5). The account's other requests would fail too. */
export class AuthRequiredError extends ImggenError {
  readonly type = "auth_required";
}

/** The balance is too low (`my_credits.no_credits_description`, section 7). Other requests would fail too. */
export class InsufficientCreditsError extends ImggenError {
  readonly type = "insufficient_credits";
}

/** The model needs a Pro or Premium subscription (403 `SUBSCRIPTION_REQUIRED`, section 2.2). */
class SubscriptionRequiredError extends ImggenError {
  readonly type = "subscription_required";
}

/**
 * The service or generator rejected the request as invalid (`empty_prompt`, `prompt_too_long`, HTTP 400, 404, 413,
 * 422). Other requests can still be accepted. For a refused submit, `charged` is `no`.
 */
export class RejectedRequestError extends ImggenError {
  readonly type = "invalid_request";
}

/** The service or generator failed or refused to generate the image, which ends the task. */
export class GenerationFailedError extends ImggenError {
  readonly type = "generation_failed";
}

/** Any other error of the service: an unknown error key (in `key`), a reached limit, or an invalid reply to a poll. */
export class ServiceError extends ImggenError {
  readonly type = "service_error";
}

/** The service or generator could not be reached, even with retries (see `cause`). A submit was certainly not sent. */
export class NetworkError extends ImggenError {
  readonly type = "network";
}

/** The disk has no room for a reply, so the user must free space. A submit with this error was not sent. */
export class NoRoomError extends ImggenError {
  readonly type = "save_failed";
}

/**
 * A submit was sent, but its reply was lost or invalid. The submit is not repeated, because the service might have
 * accepted it. `charged` is `unknown`, and `mentionedTaskId` might lead to the image.
 */
export class OutcomeUnknownError extends ImggenError {
  readonly type = "outcome_unknown";
  /** Task id in the invalid reply, possibly of another request, or null. */
  readonly mentionedTaskId: string | null;

  constructor(message: Wording, facts: ErrorFacts & { mentionedTaskId?: string | null } = {}) {
    super(message, { charged: "unknown", ...facts });
    this.mentionedTaskId = facts.mentionedTaskId ?? null;
  }
}

type ErrorClass = new (message: string, facts: ErrorFacts) => ImggenError;

/** Error class and message by error key (section 7 of the service's document). */
const BY_KEY: Record<string, readonly [ErrorClass, string]> = {
  login_required: [AuthRequiredError, "The service refused the API key."],
  "image_generation.error.empty_prompt": [RejectedRequestError, "The service found the prompt empty."],
  "image_generation.error.prompt_too_long": [
    RejectedRequestError,
    "The service found the prompt too long for this model.",
  ],
  "my_credits.no_credits_description": [
    InsufficientCreditsError,
    "The account has too few credits for this request.",
  ],
  "image_generation.error.generation_failed": [
    GenerationFailedError,
    "The service could not generate the image.",
  ],
  "image_generation.error.unknown_error": [ServiceError, "The service reports an unexpected error."],
  SUBSCRIPTION_REQUIRED: [SubscriptionRequiredError, "This model needs a Pro or Premium subscription."],
};

/** Error class and message by HTTP status, for a reply without a known error key. */
const BY_STATUS: Record<number, readonly [ErrorClass, string]> = {
  400: [RejectedRequestError, "The service rejected the request (HTTP 400)."],
  401: [AuthRequiredError, "The service refused the API key (HTTP 401)."],
  404: [RejectedRequestError, "The service rejected the request (HTTP 404)."],
  413: [RejectedRequestError, "The service found the request too large (HTTP 413)."],
  422: [RejectedRequestError, "The service rejected the request (HTTP 422)."],
  429: [ServiceError, "The service is busy (HTTP 429)."],
};

/** Returns the error for a refused poll, never `invalid_request`, because the service had accepted the request. */
export function refusedPoll(key: string | null, status: number, detail?: string): ImggenError {
  const error = refusedSubmit(key, status, "yes", detail);
  if (error.type !== "invalid_request") return error;
  return new ServiceError(error.message, { key: key ?? undefined, charged: "yes" });
}

/** Chooses the error by the error key, otherwise by the HTTP status. @param detail is appended to the message */
export function refusedSubmit(
  key: string | null,
  status: number,
  charged: Charged,
  detail?: string,
): ImggenError {
  const withDetail = (message: string) =>
    detail === undefined ? message : `${message.replace(/\.$/, "")}: ${detail.replace(/(?<![.?!])$/, ".")}`;
  if (key === null && status === 404) return addressUnknown(charged);
  const facts = { key: key ?? undefined, charged };
  const entry = (key !== null && Object.hasOwn(BY_KEY, key) ? BY_KEY[key] : undefined) ?? BY_STATUS[status];
  if (entry) {
    const [Type, message] = entry;
    return new Type(withDetail(message), facts);
  }
  const summary = key === null ? `HTTP ${status}` : `the error "${key}"`;
  return new ServiceError(withDetail(`The service refused the request with ${summary}.`), facts);
}

/** Error for a 404 without an error key, which comes from another server at the base URL. */
function addressUnknown(charged: Charged): ImggenError {
  return new RejectedRequestError("The service does not have this address (HTTP 404).", {
    charged,
    hint: "Nothing was charged. Is the base URL right? It must include the service's /api.",
  });
}
