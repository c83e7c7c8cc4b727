import { type RetryRule, TRANSFER_POLICY } from "../../api/retry.ts";

/**
 * Waits between attempts in an outage, in milliseconds. `unsent`: nothing can be sent. `lost`: replies are lost, so that each
 * attempt may be charged. `account`: the account is refused.
 */
export type OutageWaits = Readonly<Record<"unsent" | "lost" | "account", readonly number[]>>;

/** For a submit that certainly was not sent. */
export const SUBMIT_NOT_SENT: RetryRule = { attempts: 4, baseMs: 500 };
/** For a submit whose reply was lost, at a free provider only. */
export const SUBMIT_LOST: RetryRule = { attempts: 3, baseMs: 1_000 };
export const SUBMIT_RATE_LIMITED: RetryRule = { attempts: 6, baseMs: 1_000 };

/** Attempts, waits and time limits of all retries, in milliseconds. `MAX_BACKOFF_MS` limits each wait. */
export const POLICY = {
  submit: {
    ...TRANSFER_POLICY.submit,
    unsent: SUBMIT_NOT_SENT,
    rateLimited: SUBMIT_RATE_LIMITED,
    lost: SUBMIT_LOST,
    /** Maximum wait for Retry-After without a limit by the user. */
    maxBusyMs: 180_000,
    /** Wait after a signal for the reply to a submit in flight, which may contain the task id. */
    graceMs: 10_000,
    /** Maximum time for which an abandoned request that may still run keeps its turn. */
    maxTurnKeepMs: 30_000,
  },
  poll: {
    ...TRANSFER_POLICY.poll,
    failed: { attempts: Number.POSITIVE_INFINITY, baseMs: 500 },
    rateLimited: { attempts: Number.POSITIVE_INFINITY, baseMs: 1_000 },
    maxConcurrent: 32,
    /** Minimum timeout of a poll at the deadline. */
    minLastMs: 1_000,
    /** Time after a submit during which the service may not find the task yet. */
    notYetKnownMs: 30_000,
    /** A job is gone if the service has not found it for this time, and not sooner than this after its acceptance. */
    goneMs: 30_000,
    /** Time without a poll that reached the provider after which an outage is reported. */
    outageMs: 5_000,
  },
  /** The reference client makes 60 polls, 3 s apart (section 4.2). The largest images take longer. */
  wait: { timeoutMs: 180_000, timeout4KMs: 600_000 },
  download: TRANSFER_POLICY.download,
  reference: TRANSFER_POLICY.reference,
  upload: TRANSFER_POLICY.upload,
  outage: {
    /** An outage begins after this many lost submits in a row, of at least `minRequests` different requests. */
    lostInARow: 3,
    minRequests: 2,
    /** A request that cannot be sent costs nothing, so the last wait is repeated until the outage has lasted `maxMs`. */
    unsentWaitsMs: [500, 1_000, 2_000, 5_000, 10_000],
    /** Each lost submit may be charged, so no attempt follows the last wait. */
    lostWaitsMs: [2_000, 5_000, 15_000, 30_000, 60_000],
    maxMs: 300_000,
    /** Shorter than `maxMs`, because a provider that has never answered probably has a wrong address. */
    maxFirstMs: 5_000,
    /** An attempt may last as long as the connect timeout, so a minimum of attempts is made in a long outage too. */
    minProbes: 3,
    /** Minimum time between probes, even after `retry`, because each lost one may be charged. */
    minRetryMs: { unsent: 1_000, account: 5_000, lost: Number.POSITIVE_INFINITY },
  },
  /** A server retries forever, because no user is there to repeat a command. The last wait is repeated. */
  serverOutage: {
    unsent: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000],
    account: [30_000, 60_000, 120_000, 240_000, 300_000],
    lost: [2_000, 5_000, 15_000, 30_000, 60_000],
  } satisfies OutageWaits,
} as const;
