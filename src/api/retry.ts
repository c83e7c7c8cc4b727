import { BlockedAddressError } from "./address.ts";
import { isOfThisProcess, isUntrusted } from "./connection-errors.ts";

/** The wait after failure n is random, up to `min(MAX_BACKOFF_MS, baseMs · 2^(n-1))`. */
export interface RetryRule {
  /** Maximum number of attempts, including the first. */
  readonly attempts: number;
  /** Maximum of the first wait. */
  readonly baseMs: number;
}

/** Maximum wait, unless a reply has a longer Retry-After. */
export const MAX_BACKOFF_MS = 20_000;

/** Transfer limits of the retry policy in `core/limits/policy.ts`. */
export const TRANSFER_POLICY = {
  /** Time limit for the complete exchange. A shorter limit would turn slow replies into unknown outcomes. */
  submit: { timeoutMs: 120_000 },
  poll: { timeoutMs: 15_000 },
  /** `idleMs`: maximum time without a received byte. `timeoutMs`: maximum total time. */
  download: { attempts: 6, baseMs: 500, maxRetryAfterMs: 120_000, idleMs: 30_000, timeoutMs: 900_000 },
  /** Fewer attempts than for `download`, because other tasks wait for the turn of the task that needs the image. */
  reference: { attempts: 3, baseMs: 500, maxRetryAfterMs: 20_000, idleMs: 15_000, headMs: 15_000 },
  /** For the upload of a reference image to a provider, or by the user's command. */
  upload: { timeoutMs: 120_000 },
} as const;

/** Returns the wait before the next attempt, at least the Retry-After. @param failures in a row, at least 1 */
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
 * Whether a failed request might soon succeed. All operations use this rule, but the caller must also check that a
 * retry is safe, because a paid submit that might have been sent must not be repeated.
 * @param failure the HTTP status of the reply, or the error if there was no reply
 */
export function isRetryable(failure: unknown): boolean {
  if (typeof failure === "number")
    return failure === 408 || failure === 425 || failure === 429 || failure >= 500;
  return !isUntrusted(failure) && !isOfThisProcess(failure) && !isBlocked(failure);
}

function isBlocked(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof BlockedAddressError;
}
