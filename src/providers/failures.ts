import {
  AuthRequiredError,
  GenerationFailedError,
  InsufficientCreditsError,
  NetworkError,
  NoRoomError,
  RejectedRequestError,
  ServiceError,
} from "../api/api-errors.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import type { ImggenError } from "../lib/error-types.ts";
import { type FailedPoll, ProviderError, type SubmitReply } from "./provider.ts";

/** Converts the error of a task that was not charged, or of a request for the list of models. */
export function toImggenError(error: ProviderError): ImggenError {
  const { failure, message, details, hint = "Nothing was charged." } = error;
  const facts = { charged: "no", hint, details, cause: error } as const;
  if (failure.kind !== "account") return new ERROR_TYPES[failure.kind](message, facts);
  const AccountError = failure.key === "login_required" ? AuthRequiredError : InsufficientCreditsError;
  return new AccountError(message, { ...facts, key: failure.key });
}

const ERROR_TYPES = {
  unsent: NetworkError,
  disk: NoRoomError,
  invalid: RejectedRequestError,
  refused: GenerationFailedError,
  busy: ServiceError,
  lost: ServiceError,
} as const;

function toSubmitReply(error: ProviderError): SubmitReply {
  const { failure } = error;
  switch (failure.kind) {
    case "unsent":
    case "disk":
      return { outcome: "not_sent", cause: error.cause ?? error, error: toImggenError(error) };
    case "busy":
      return {
        outcome: "rate_limited",
        retryAfterMs: failure.retryAfterMs,
        error: toImggenError(error),
        ...(failure.isStarting && { isStarting: true }),
      };
    case "account":
    case "invalid":
    case "refused":
      return { outcome: "refused", error: toImggenError(error) };
    case "lost": {
      const { kind: _, ...facts } = failure;
      return { outcome: "unknown", excerpt: null, ...facts, why: toClause(error.message), cause: error };
    }
  }
}

/** Never throws. @param work must call its parameter immediately before the request can reach the provider */
export async function runRequest<Reply extends SubmitReply | null>(
  work: (onSent: () => void) => Promise<Reply>,
  onSent = () => {},
): Promise<Reply | SubmitReply> {
  let isSent = false;
  try {
    return await work(() => {
      if (isSent) return;
      isSent = true;
      onSent();
    });
  } catch (error) {
    if (error instanceof ProviderError) return toSubmitReply(error);
    const unsentKind = isDiskFull(error) ? "disk" : "unsent";
    const failure = { kind: isSent ? "lost" : unsentKind } as const;
    const message = isSent ? errorText(error) : `Nothing was sent: ${toClause(errorText(error))}.`;
    return toSubmitReply(new ProviderError(message, failure, { cause: error }));
  }
}

/** @param why a clause */
export function failedPoll(why: string, facts: Partial<FailedPoll> = {}): FailedPoll {
  return { outcome: "retry", why, rateLimited: false, retryAfterMs: null, connectionError: null, ...facts };
}

const DISK_FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS"]);

export function isDiskFull(error: unknown): boolean {
  return DISK_FULL.has(errorCode(error) ?? "");
}

/** Converts a sentence to a clause for use in another sentence. */
export function toClause(sentence: string): string {
  return sentence.replace(/\.$/, "").replace(/^(?:The|A|No)\b/, (word) => word.toLowerCase());
}
