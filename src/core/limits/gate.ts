import { ServiceError } from "../../api/api-errors.ts";
import { connectionErrorText } from "../../api/connection-errors.ts";
import { isRetryable } from "../../api/retry.ts";
import { WaitQueue } from "../../lib/concurrency.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { type PollReply, type SubmitReply, TimeLimitError } from "../../providers/provider.ts";
import { isAccountError } from "../errors.ts";
import { Pause, type PauseDeps, PollLimit } from "./pause.ts";
import { type OutageWaits, POLICY } from "./policy.ts";

/** Start or end of an outage. `isOfPolls`: only polls fail to reach the provider. */
export type OutageEvent = { down: true; why: string; isOfPolls?: true } | { down: false };

export interface GateDeps extends PauseDeps {
  onOutage?: ((outage: OutageEvent) => void) | undefined;
  /** Waits between probes if imggen runs as a server, which retries forever. Absent for a command, which gives up. */
  waits?: OutageWaits | undefined;
}

/** Permission for one attempt to submit. `isProbe`: the attempt checks whether an outage is over. */
export interface Pass {
  readonly isProbe: boolean;
}

interface Outage {
  kind: keyof OutageWaits;
  why: string;
  refusal: ImggenError | null;
  beganMs: number;
  failedMs: number;
  /** Number of failed probes. */
  probes: number;
  /** Whether the next probe skips its wait. */
  isDue: boolean;
  wake: AbortController;
}

/**
 * Decides when the requests of a run are submitted. A 429 pauses submits and halves their concurrency, and each
 * successful submit raises the concurrency by one. In an outage, single probes are submitted after growing waits. Polls
 * have a separate limit.
 */
export class Gate {
  readonly #deps: GateDeps;
  readonly #submits: Pause;
  readonly #polls: PollLimit;
  readonly #queue = new WaitQueue();
  readonly #passes = new Set<Pass>();
  readonly #jobs = new Set<object>();
  #maxPasses = Number.POSITIVE_INFINITY;
  #stopped: ImggenError | null = null;
  readonly #stop = new AbortController();
  #outage: Outage | null = null;
  #probe: Pass | null = null;
  #consecutiveLosses = 0;
  readonly #lostRequests = new Set<string>();
  #hasAnswered = false;
  /** Start of a series of polls that did not reach the provider; null if the last poll reached it. */
  #pollOutage: { sinceMs: number; wasReported: boolean } | null = null;

  constructor(deps: GateDeps) {
    this.#deps = deps;
    this.#submits = new Pause(POLICY.submit.rateLimited, deps);
    this.#polls = new PollLimit(deps);
  }

  /** Error after which no more requests are submitted, or null. */
  get stopped(): ImggenError | null {
    return this.#stopped;
  }

  /** Current outage, in which only probes are submitted, or null. */
  get outage(): Readonly<Pick<Outage, "kind" | "why" | "refusal" | "beganMs" | "failedMs">> | null {
    return this.#outage;
  }

  /** Whether no more requests are submitted, because of an error or because an outage has lasted too long. */
  get isClosed(): boolean {
    if (this.#stopped !== null) return true;
    return this.#outage !== null && this.#probeWaitMs(this.#outage) === null;
  }

  /** Whether the run never gives up in an outage, because imggen runs as a server. */
  get keepsTrying(): boolean {
    return this.#deps.waits !== undefined;
  }

  /** Minimum time until the next submit, in milliseconds. */
  get waitMs(): number {
    const probeMs = this.#outage === null ? 0 : (this.#probeWaitMs(this.#outage) ?? 0);
    return Math.max(0, this.#submits.remainingMs, probeMs);
  }

  /** Records that a job of this run has begun. @returns a function that records the job's end */
  jobBegan(): () => void {
    const job = {};
    this.#jobs.add(job);
    return () => void this.#jobs.delete(job);
  }

  /** Whether a job of this run is unfinished. If so, the provider might accept new requests after the job ends. */
  get hasOpenJobs(): boolean {
    return this.#jobs.size > 0;
  }

  /** Stops all further submits, but not polls. A second call does not replace the error. */
  stop(error: ImggenError): void {
    this.#stopped ??= error;
    this.#stop.abort();
    this.#queue.wakeAll();
  }

  /**
   * Waits until a request can be submitted. Called before the attempt is recorded, because a waiting request must not
   * look submitted. `leave` must be called for every pass.
   * @returns null if the gate gives up; the reason is in `stopped` or `outage`
   * @throws the signal's reason
   */
  async enter(signal: AbortSignal): Promise<Pass | null> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#stopped !== null) return null;
      const outage = this.#outage;
      if ((outage && this.#probe) || this.#passes.size >= this.#maxPasses) {
        await this.#queue.wait(signal);
        continue;
      }
      const waitMs = outage ? this.#probeWaitMs(outage) : 0;
      if (waitMs === null) return null;
      const pass: Pass = { isProbe: outage !== null };
      if (pass.isProbe) this.#probe = pass;
      this.#passes.add(pass);
      let hasEntered = false;
      try {
        if (outage) await this.#sleep(waitMs, signal, outage.wake.signal);
        while (this.#submits.remainingMs > 0 && this.#stopped === null)
          await this.#sleep(this.#submits.remainingMs, signal);
        hasEntered = this.check(pass, signal);
        if (hasEntered) return pass;
      } finally {
        if (!hasEntered) this.leave(pass);
      }
    }
  }

  /**
   * Called right before an attempt is recorded. If false, the turn and the pass must be released before a new `enter`.
   */
  check(pass: Pass, signal: AbortSignal): boolean {
    return !signal.aborted && this.#stopped === null && !this.isStale(pass) && this.#submits.remainingMs <= 0;
  }

  isStale(pass: Pass): boolean {
    return this.#outage !== null && this.#probe !== pass;
  }

  /** Releases a pass, whether it was used or not. */
  leave(pass: Pass): void {
    this.#passes.delete(pass);
    if (this.#probe === pass) this.#probe = null;
    this.#queue.wakeAll();
  }

  /**
   * Records an attempt's result before its turn is released, so that a refused account stops the waiting requests.
   * @param requestKey identifies the request, because a single request that always fails is not an outage
   * @param maxBusyMs maximum pause for which a command waits, in milliseconds; a server waits for any pause
   */
  report(
    pass: Pass,
    reply: SubmitReply,
    signal: AbortSignal,
    requestKey: string,
    maxBusyMs: number = POLICY.submit.maxBusyMs,
  ): void {
    // The failure of an attempt that the user aborted is not a failure of the provider.
    const isAborted = signal.aborted && !(signal.reason instanceof TimeLimitError);
    switch (reply.outcome) {
      case "accepted":
      case "made":
        this.#submits.reset();
        this.#maxPasses += 1;
        this.#endOutage();
        break;
      case "rate_limited":
        this.#slowDown(reply, maxBusyMs);
        this.#endOutage();
        break;
      case "refused":
        if (!isAccountError(reply.error)) this.#endOutage();
        else if (this.keepsTrying) this.#recordFailure(pass, "account", reply.error.message, reply.error);
        else this.stop(reply.error);
        break;
      case "not_sent":
        // A permanent error is not an outage, because waiting would not help.
        if (!isAborted && (this.keepsTrying || !isPermanent(reply)))
          this.#recordFailure(pass, "unsent", reply.error?.message ?? connectionErrorText(reply.cause));
        break;
      case "unknown":
        if (!isAborted) this.#handleLostReply(pass, reply.why, requestKey);
    }
  }

  /** Makes the next probe skip its wait, for example because a new task has begun. */
  retry(): void {
    const outage = this.#outage;
    if (outage === null || this.#nowMs - outage.failedMs < POLICY.outage.minRetryMs[outage.kind]) return;
    outage.isDue = true;
    const { wake } = outage;
    outage.wake = new AbortController();
    wake.abort();
  }

  /** Polls once, as `PollLimit` allows. Pauses and outages of submits do not delay polls. */
  async poll(
    poll: () => Promise<PollReply>,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<PollReply> {
    const reply = await this.#polls.poll(poll, timeoutMs, signal);
    if (!signal.aborted) this.#trackPollOutage(reply);
    return reply;
  }

  /** Reports the start and end of an outage of polls, unless an outage of submits is already reported. */
  #trackPollOutage(reply: PollReply): void {
    if (reply.outcome !== "retry" || reply.connectionError === null) {
      if (this.#pollOutage?.wasReported && this.#outage === null) this.#deps.onOutage?.({ down: false });
      this.#pollOutage = null;
      return;
    }
    this.#pollOutage ??= { sinceMs: this.#nowMs, wasReported: false };
    const isLong = this.#nowMs - this.#pollOutage.sinceMs >= POLICY.poll.outageMs;
    if (this.#pollOutage.wasReported || !isLong || this.#outage !== null) return;
    this.#pollOutage.wasReported = true;
    this.#deps.onOutage?.({ down: true, why: reply.why, isOfPolls: true });
  }

  get #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  /** Sleeps until `ms` have passed, the run is stopped or `wake` aborts. @throws the signal's reason */
  async #sleep(ms: number, signal: AbortSignal, wake: AbortSignal = this.#stop.signal): Promise<void> {
    await this.#deps.clock
      .sleep(ms, AbortSignal.any([signal, wake, this.#stop.signal]))
      .catch((error: unknown) => {
        signal.throwIfAborted();
        if (!wake.aborted && !this.#stop.signal.aborted) throw error;
      });
  }

  #slowDown(
    { retryAfterMs, error }: Extract<SubmitReply, { outcome: "rate_limited" }>,
    maxBusyMs: number,
  ): void {
    this.#submits.extend(retryAfterMs, error.message);
    this.#maxPasses = Math.max(1, Math.floor(Math.min(this.#maxPasses, this.#passes.size) / 2));
    const { remainingMs } = this.#submits;
    if (!this.keepsTrying && remainingMs > Math.max(maxBusyMs, POLICY.submit.maxBusyMs))
      this.stop(tooLongError(error, remainingMs));
  }

  #endOutage(): void {
    this.#hasAnswered = true;
    this.#consecutiveLosses = 0;
    this.#lostRequests.clear();
    this.#queue.wakeAll();
    const outage = this.#outage;
    if (outage === null) return;
    this.#outage = null;
    this.#probe = null;
    outage.wake.abort();
    this.#deps.onOutage?.({ down: false });
  }

  #handleLostReply(pass: Pass, why: string, requestKey: string): void {
    this.#consecutiveLosses += 1;
    this.#lostRequests.add(requestKey);
    const { lostInARow, minRequests } = POLICY.outage;
    const isOutage = this.#consecutiveLosses >= lostInARow && this.#lostRequests.size >= minRequests;
    if (isOutage || this.#outage !== null) this.#recordFailure(pass, "lost", why);
  }

  #recordFailure(pass: Pass, kind: Outage["kind"], why: string, refusal: ImggenError | null = null): void {
    const failure = { kind, why, refusal, failedMs: this.#nowMs };
    const isDue = false;
    const current = this.#outage;
    const lastRefusal = current?.refusal?.message;
    if (current === null) {
      this.#outage = { ...failure, beganMs: failure.failedMs, probes: 0, isDue, wake: new AbortController() };
    } else {
      if (pass === this.#probe) current.probes += 1;
      // After an attempt that might have been charged, the longer waits for lost replies apply until the outage ends.
      if (current.kind !== "lost" || kind !== "unsent") Object.assign(current, failure);
      Object.assign(current, { isDue, failedMs: failure.failedMs });
    }
    if (current === null || (refusal !== null && refusal.message !== lastRefusal))
      this.#deps.onOutage?.({ down: true, why });
  }

  /** Wait before the next probe, in milliseconds, or null if the run gives up. */
  #probeWaitMs({ beganMs, failedMs, isDue, probes, kind }: Outage): number | null {
    const waits = this.#deps.waits?.[kind];
    if (waits) {
      const waitMs = waits[probes] ?? waits.at(-1) ?? 0;
      return isDue ? 0 : Math.max(0, failedMs + waitMs - this.#nowMs);
    }
    const { unsentWaitsMs, lostWaitsMs, maxMs, maxFirstMs, minProbes } = POLICY.outage;
    if (kind !== "unsent") return lostWaitsMs[probes] ?? null;
    const isOver = this.#nowMs - beganMs >= (this.#hasAnswered ? maxMs : maxFirstMs);
    if (isOver && probes >= minProbes) return null;
    return unsentWaitsMs[probes] ?? unsentWaitsMs.at(-1) ?? null;
  }
}

/** Whether another attempt would also fail before it is sent, as with a rejected certificate or a full disk. */
export function isPermanent({ cause, error }: Extract<SubmitReply, { outcome: "not_sent" }>): boolean {
  return error?.type === "save_failed" || !isRetryable(cause);
}

function tooLongError({ message }: ImggenError, ms: number): ServiceError {
  const busy = message.replace(/\.$/, "");
  return new ServiceError(`${busy}, and asks to wait ${formatDuration(ms)}.`, { charged: "no" });
}
