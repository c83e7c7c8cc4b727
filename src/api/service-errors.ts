import type { Charged, ErrorFacts, ImggenError } from "../lib/error-types.ts";
import {
  AuthRequiredError,
  GenerationFailedError,
  InsufficientCreditsError,
  RejectedRequestError,
  ServiceError,
  SubscriptionRequiredError,
} from "./errors.ts";

type ErrorClass = new (message: string, facts: ErrorFacts) => ImggenError;

/** Section 7 of the service's document, key by key. */
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
  "image_generation.error.unknown_error": [
    ServiceError,
    "The service reports an unexpected error of its own.",
  ],
  SUBSCRIPTION_REQUIRED: [SubscriptionRequiredError, "This model needs a Pro or Premium subscription."],
};

/** The error for an HTTP status without a known error key. */
const BY_STATUS: Record<number, readonly [ErrorClass, string]> = {
  400: [RejectedRequestError, "The service rejected the request (HTTP 400)."],
  401: [AuthRequiredError, "The service refused the API key (HTTP 401)."],
  404: [RejectedRequestError, "The service does not know this address (HTTP 404)."],
  413: [RejectedRequestError, "The service found the request too large (HTTP 413)."],
  422: [RejectedRequestError, "The service rejected the request (HTTP 422)."],
};

/** The error for a refused poll. The user's request cannot be wrong there, only the poll. */
export function refusedPoll(key: string | null, status: number): ImggenError {
  const error = refusedSubmit(key, status, "yes");
  if (error.type !== "invalid_request") return error;
  return new ServiceError(error.message, key === null ? { charged: "yes" } : { key, charged: "yes" });
}

/**
 * The error for a poll that the queue before the user's own generator refuses: the generator refuses the account, so
 * that the queue does not go on. Nothing was made, and the task stays in it.
 * @param detail what the user can do
 */
export function pausedQueue(key: string, detail: string): ImggenError {
  const [Type] = (Object.hasOwn(BY_KEY, key) ? BY_KEY[key] : undefined) ?? [ServiceError];
  return new Type(detail, { key, charged: "no", hint: "Nothing was charged. The task stays in the queue." });
}

/**
 * The error for a refused submit: by its error key, else by the HTTP status; unknown keys are shown.
 * @param detail what is said beside the key, in place of what is known of it
 */
export function refusedSubmit(
  key: string | null,
  status: number,
  charged: Charged,
  detail?: string,
): ImggenError {
  const facts = key === null ? { charged } : { key, charged };
  const known = (key !== null && Object.hasOwn(BY_KEY, key) ? BY_KEY[key] : undefined) ?? BY_STATUS[status];
  if (known) {
    const [Type, message] = known;
    return new Type(detail ?? message, facts);
  }
  const said = key === null ? `HTTP ${status}` : `the error "${key}"`;
  return new ServiceError(detail ?? `The service refused with ${said}.`, facts);
}
