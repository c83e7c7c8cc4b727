import { BlockedAddressError } from "./address.ts";
import { isOfThisProcess, isUntrusted } from "./connection-errors.ts";

/** A retry rule of one operation. Waits are full jitter: `random(0, min(cap, base · 2^n))`. */
export interface RetryRule {
  /** Maximum number of attempts, the first included. */
  readonly attempts: number;
  /** Milliseconds. */
  readonly baseMs: number;
}

/** Longest wait, unless a longer one is asked for with Retry-After. */
export const MAX_BACKOFF_MS = 20_000;

/** Retries and time limits of transfers, in milliseconds. `core/limits/policy.ts` has the whole retry policy. */
export const TRANSFER_POLICY = {
  /** Time limit for the headers of the reply. A shorter one would turn slow replies into unknown outcomes. */
  submit: { timeoutMs: 120_000 },
  poll: { timeoutMs: 15_000 },
  /** `maxRetryAfterMs`: longest accepted Retry-After. `idleMs`: limit without a byte. `timeoutMs`: limit in all. */
  download: { attempts: 6, baseMs: 500, maxRetryAfterMs: 120_000, idleMs: 30_000, timeoutMs: 900_000 },
  /** Fewer attempts, because the task has its turn at the provider, and other tasks wait for that. */
  reference: { attempts: 3, baseMs: 500, maxRetryAfterMs: 20_000, idleMs: 15_000, headMs: 15_000 },
  /** Upload of a reference image to a provider, or by the user's command. */
  upload: { timeoutMs: 120_000 },
} as const;

/**
 * Wait after the `failures`-th failure in a row (1 for the first), in milliseconds. Never shorter than the Retry-After of
 * the reply.
 */
export function backoffMs(
  rule: RetryRule,
  failures: number,
  retryAfterMs: number | null,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(MAX_BACKOFF_MS, rule.baseMs * 2 ** Math.min(failures - 1, 30));
  return Math.max(random() * ceiling, retryAfterMs ?? 0);
}

/**
 * Whether a failed request may succeed in a moment: the one rule for submits, polls, downloads, reference images and batches.
 * Each operation decides whether it may send the request again at all: a submit that may have left is never sent again.
 * @param failure the HTTP status of the reply, or the error in its place
 */
export function isRetryable(failure: unknown): boolean {
  if (typeof failure === "number")
    return failure === 408 || failure === 425 || failure === 429 || failure >= 500;
  return !isUntrusted(failure) && !isOfThisProcess(failure) && !isBlocked(failure);
}

function isBlocked(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof BlockedAddressError;
}
