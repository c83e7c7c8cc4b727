import { type RetryRule, TRANSFER_POLICY } from "../../api/retry.ts";

/** Waits by kind of outage, in milliseconds: requests cannot be sent, replies are lost, or the account is refused. */
export type OutageWaits = Readonly<Record<"unsent" | "lost" | "account", readonly number[]>>;

export const SUBMIT_NOT_SENT: RetryRule = { attempts: 4, baseMs: 500 };
/** Rule for a free provider's lost replies. A paid request is not retried, because it might be charged twice. */
export const SUBMIT_LOST: RetryRule = { attempts: 3, baseMs: 1_000 };
export const SUBMIT_RATE_LIMITED: RetryRule = { attempts: 6, baseMs: 1_000 };

/** Attempts, waits and time limits of all retries, in milliseconds. `MAX_BACKOFF_MS` limits each wait. */
export const POLICY = {
  submit: {
    ...TRANSFER_POLICY.submit,
    unsent: SUBMIT_NOT_SENT,
    rateLimited: SUBMIT_RATE_LIMITED,
    lost: SUBMIT_LOST,
    /** Maximum wait for Retry-After if no result is awaited. Only a longer pause stops the whole run. */
    maxBusyMs: 180_000,
    /** Wait for the reply to a submit in flight after an interrupt, because the reply might contain the task id. */
    graceMs: 10_000,
    /** Maximum time for which an abandoned request keeps its turn, because the provider might still run it. */
    maxTurnKeepMs: 30_000,
  },
  poll: {
    ...TRANSFER_POLICY.poll,
    failed: { attempts: Number.POSITIVE_INFINITY, baseMs: 500 },
    rateLimited: { attempts: Number.POSITIVE_INFINITY, baseMs: 1_000 },
    maxConcurrent: 32,
    /** Minimum timeout of the last poll, which is made at the deadline. */
    minLastMs: 1_000,
    /** Time after a submit during which the service might not find the task yet. */
    notYetKnownMs: 30_000,
    /** A job is gone if it is at least this old and the service has not found it for this long. */
    goneMs: 30_000,
    /** An outage is reported if all polls have failed to reach the provider for this long. */
    outageMs: 5_000,
  },
  /** Timeouts for a result. The reference client makes 60 polls, 3 s apart (section 4.2), but 4K images take longer. */
  wait: { timeoutMs: 180_000, timeout4KMs: 600_000 },
  download: TRANSFER_POLICY.download,
  reference: TRANSFER_POLICY.reference,
  upload: TRANSFER_POLICY.upload,
  outage: {
    /** An outage begins after this many lost submits in a row, of at least `minRequests` different requests. */
    lostInARow: 3,
    minRequests: 2,
    /** The last wait is repeated until the outage has lasted `maxMs`, because a request that is not sent is free. */
    unsentWaitsMs: [500, 1_000, 2_000, 5_000, 10_000],
    /** Each lost submit might be charged, so no attempt follows the last wait. */
    lostWaitsMs: [2_000, 5_000, 15_000, 30_000, 60_000],
    maxMs: 300_000,
    /** `maxMs` before the provider's first reply in this run. It is shorter, because the address is probably wrong. */
    maxFirstMs: 5_000,
    /** Minimum number of probes before a run gives up, because a probe can last as long as the connect timeout. */
    minProbes: 3,
    /**
     * Minimum time from a failed probe to the next probe after `retry`. Infinite for lost replies, because each probe
     * might be charged.
     */
    minRetryMs: { unsent: 1_000, account: 5_000, lost: Number.POSITIVE_INFINITY },
  },
  /** Waits of a server, which retries forever, because no user repeats a command. The last wait is repeated. */
  serverOutage: {
    unsent: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000],
    account: [30_000, 60_000, 120_000, 240_000, 300_000],
    lost: [2_000, 5_000, 15_000, 30_000, 60_000],
  } satisfies OutageWaits,
} as const;
