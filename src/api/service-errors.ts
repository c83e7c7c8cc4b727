import type { Charged, ImggenError } from "../lib/error-types.ts";
import {
  AuthRequiredError,
  GenerationFailedError,
  InsufficientCreditsError,
  RejectedRequestError,
  ServiceError,
  SubscriptionRequiredError,
} from "./errors.ts";

type Refusal = (facts: { key?: string; charged: Charged }) => ImggenError;

/** Section 7 of the service's document, key by key. */
const BY_KEY: Record<string, Refusal> = {
  login_required: (facts) => new AuthRequiredError("The service refused the API key.", facts),
  "image_generation.error.empty_prompt": (facts) =>
    new RejectedRequestError("The service found the prompt empty.", facts),
  "image_generation.error.prompt_too_long": (facts) =>
    new RejectedRequestError("The service found the prompt too long for this model.", facts),
  "my_credits.no_credits_description": (facts) =>
    new InsufficientCreditsError("The account has too few credits for this request.", facts),
  "image_generation.error.generation_failed": (facts) =>
    new GenerationFailedError("The service could not generate the image.", facts),
  "image_generation.error.unknown_error": (facts) =>
    new ServiceError("The service reports an unexpected error of its own.", facts),
  SUBSCRIPTION_REQUIRED: (facts) =>
    new SubscriptionRequiredError("This model needs a Pro or Premium subscription.", facts),
};

/** The error for an HTTP status without a known error key. */
const BY_STATUS: Record<number, Refusal> = {
  400: (facts) => new RejectedRequestError("The service rejected the request (HTTP 400).", facts),
  401: (facts) => new AuthRequiredError("The service refused the API key (HTTP 401).", facts),
  404: (facts) => new RejectedRequestError("The service does not know this address (HTTP 404).", facts),
  413: (facts) => new RejectedRequestError("The service found the request too large (HTTP 413).", facts),
  422: (facts) => new RejectedRequestError("The service rejected the request (HTTP 422).", facts),
};

/** The error for a refused poll. The user's request cannot be wrong there, only the poll. */
export function refusedPoll(key: string | null, status: number): ImggenError {
  const error = refusedSubmit(key, status, "yes");
  if (error.type !== "invalid_request") return error;
  return new ServiceError(error.message, key === null ? { charged: "yes" } : { key, charged: "yes" });
}

/** The error for a refused submit: by its error key, else by the HTTP status; unknown keys are shown. */
export function refusedSubmit(key: string | null, status: number, charged: Charged): ImggenError {
  const facts = key === null ? { charged } : { key, charged };
  const known = (key !== null && Object.hasOwn(BY_KEY, key) ? BY_KEY[key] : undefined) ?? BY_STATUS[status];
  if (known) return known(facts);
  const said = key === null ? `HTTP ${status}` : `the error "${key}"`;
  return new ServiceError(`The service refused with ${said}.`, facts);
}
