import { BlockedAddressError } from "./address.ts";
import { isOfThisProcess, isUntrusted } from "./connection-errors.ts";

/** A retry rule of one operation. Waits are full jitter: `random(0, min(cap, base · 2^n))`. */
export interface RetryRule {
  /** The most attempts, the first included. */
  attempts: number;
  /** Milliseconds. */
  baseMs: number;
}

export const SUBMIT_NOT_SENT: RetryRule = { attempts: 4, baseMs: 500 };
/** Only for what costs nothing. */
export const SUBMIT_LOST: RetryRule = { attempts: 3, baseMs: 1000 };
export const SUBMIT_RATE_LIMITED: RetryRule = { attempts: 6, baseMs: 1000 };
export const POLL: RetryRule = { attempts: Number.POSITIVE_INFINITY, baseMs: 500 };
export const POLL_RATE_LIMITED: RetryRule = { attempts: Number.POSITIVE_INFINITY, baseMs: 1000 };
export const DOWNLOAD: RetryRule = { attempts: 6, baseMs: 500 };
/** Fewer: meanwhile the task has a slot at the generator, and the others wait for it. */
export const REFERENCE: RetryRule = { attempts: 3, baseMs: 500 };

const CAP_MS = 20_000;

/**
 * How long to wait after the `failures`-th failure in a row (1 for the first), in milliseconds.
 * Never shorter than what the service asked for with Retry-After.
 */
export function backoffMs(
  rule: RetryRule,
  failures: number,
  retryAfterMs: number | null,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(CAP_MS, rule.baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.max(random() * ceiling, retryAfterMs ?? 0);
}

/**
 * Whether a failed request may succeed in a moment: the one rule for submits, polls, downloads, reference images and batches.
 * Each operation decides whether it may send the request again at all: a submit that may have left is never sent again.
 * @param failure the HTTP status of the reply, or the error in its place
 */
export function isWorthRetry(failure: unknown): boolean {
  if (typeof failure === "number")
    return failure === 408 || failure === 425 || failure === 429 || failure >= 500;
  return !isUntrusted(failure) && !isOfThisProcess(failure) && !isBlocked(failure);
}

function isBlocked(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof BlockedAddressError;
}
