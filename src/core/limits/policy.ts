import { type RetryRule, TRANSFER_POLICY } from "../../api/retry.ts";

/**
 * Waits between attempts in an outage, in milliseconds: nothing can be sent, replies are lost so that each attempt may be
 * charged, or the account is refused.
 */
export type OutageWaits = Readonly<Record<"unsent" | "lost" | "account", readonly number[]>>;

/** Of a submit that certainly was not sent. */
export const SUBMIT_NOT_SENT: RetryRule = { attempts: 4, baseMs: 500 };
/** Of a submit whose reply was lost: only at a free provider. */
export const SUBMIT_LOST: RetryRule = { attempts: 3, baseMs: 1_000 };
export const SUBMIT_RATE_LIMITED: RetryRule = { attempts: 6, baseMs: 1_000 };

/** Numbers of every retry: attempts, waits and time limits, in milliseconds. Waits are capped by `MAX_BACKOFF_MS`. */
export const POLICY = {
  submit: {
    ...TRANSFER_POLICY.submit,
    unsent: SUBMIT_NOT_SENT,
    rateLimited: SUBMIT_RATE_LIMITED,
    lost: SUBMIT_LOST,
    /** Longest time that the provider may ask to wait with Retry-After, if the user has set no limit. */
    maxBusyMs: 180_000,
    /** Wait after a signal for the id that a running submit may bring. */
    graceMs: 10_000,
    /** A turn is kept that long at most for a request that was given up and may still run. */
    maxKeptTurnMs: 30_000,
  },
  poll: {
    ...TRANSFER_POLICY.poll,
    failed: { attempts: Number.POSITIVE_INFINITY, baseMs: 500 },
    rateLimited: { attempts: Number.POSITIVE_INFINITY, baseMs: 1_000 },
    maxConcurrent: 32,
    /** A poll at the deadline has at least that long. */
    minLastMs: 1_000,
    /** A task may be unknown to the service that long after its submit. */
    notYetKnownMs: 30_000,
    /** A job is gone when the service has had no word of it for that long, and not sooner after its acceptance. */
    goneMs: 30_000,
  },
  /** The reference client's 60 polls, 3 s apart (section 4.2); the largest images take longer. */
  wait: { timeoutMs: 180_000, timeout4KMs: 600_000 },
  download: TRANSFER_POLICY.download,
  reference: TRANSFER_POLICY.reference,
  upload: TRANSFER_POLICY.upload,
  outage: {
    /** Lost submits in a row that begin an outage, and of how many different requests. */
    lostInARow: 3,
    minRequests: 2,
    /** A request that cannot be sent costs nothing: the last wait is repeated until the outage has lasted `maxMs`. */
    unsentWaitsMs: [500, 1_000, 2_000, 5_000, 10_000],
    /** Each lost submit may be charged: no attempt follows the last wait. */
    lostWaitsMs: [2_000, 5_000, 15_000, 30_000, 60_000],
    maxMs: 300_000,
    /** If the provider has never answered, its address is more likely to be wrong. */
    maxFirstMs: 5_000,
    /** An attempt may last as long as the connect timeout, so a few are made however long the outage is. */
    minProbes: 3,
    /** No probe is made sooner after the last one, even if there is a reason to: each lost one may be charged. */
    minRetryMs: { unsent: 1_000, account: 5_000, lost: Number.POSITIVE_INFINITY },
  },
  /** A server never gives up, because no user is there to run a command again: the last wait of each is repeated. */
  serverOutage: {
    unsent: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000],
    account: [30_000, 60_000, 120_000, 240_000, 300_000],
    lost: [2_000, 5_000, 15_000, 30_000, 60_000],
  } satisfies OutageWaits,
} as const;
