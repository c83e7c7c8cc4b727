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

/** Submitting stops, or continues. `isOfPolls`: it is the polls that no longer reach the provider. */
export type OutageEvent = { down: true; why: string; isOfPolls?: true } | { down: false };

export interface GateDeps extends PauseDeps {
  /** Called when submitting stops, and when it continues. */
  onOutage?: ((outage: OutageEvent) => void) | undefined;
  /** Waits of a server, which never gives up. Absent: a run, which does. */
  waits?: OutageWaits | undefined;
}

/** Permission for one attempt to submit a request. `isProbe`: it tries whether the provider is back after an outage. */
export interface Pass {
  readonly isProbe: boolean;
}

interface Outage {
  kind: keyof OutageWaits;
  why: string;
  /** The error that refused the account. */
  refusal: ImggenError | null;
  beganMs: number;
  failedMs: number;
  /** Failed attempts since the outage began. Submits that were in flight then do not count. */
  probes: number;
  /** Whether there is a reason to make the next probe at once. */
  isDue: boolean;
  /** Aborts when the wait before the next probe is over early. */
  wake: AbortController;
}

/**
 * Decides when the requests of one run may be submitted and polled. After a 429 none is submitted until the time that was
 * asked for is over, and fewer at once; each that succeeds allows one more. In an outage one request at a time is tried,
 * after longer and longer waits. Polls have a pause of their own.
 */
export class Gate {
  readonly #deps: GateDeps;
  readonly #submits: Pause;
  readonly #polls: PollLimit;
  readonly #queue = new WaitQueue();
  readonly #passes = new Set<Pass>();
  readonly #jobs = new Set<object>();
  /** Maximum number of passes at once. */
  #width = Number.POSITIVE_INFINITY;
  #stopped: ImggenError | null = null;
  readonly #stop = new AbortController();
  #outage: Outage | null = null;
  #probe: Pass | null = null;
  #lostInARow = 0;
  readonly #lostRequests = new Set<string>();
  #hasAnswered = false;
  /** Since when each poll has failed to reach the provider; null if the last one has. */
  #unpolled: { sinceMs: number; isSaid: boolean } | null = null;

  constructor(deps: GateDeps) {
    this.#deps = deps;
    this.#submits = new Pause(POLICY.submit.rateLimited, deps);
    this.#polls = new PollLimit(deps);
  }

  /** The error after which nothing more is submitted; null before that. */
  get stopped(): ImggenError | null {
    return this.#stopped;
  }

  /** Reason why no request is submitted at present; null if there is no outage. */
  get outage(): Readonly<Pick<Outage, "kind" | "why" | "refusal" | "beganMs" | "failedMs">> | null {
    return this.#outage;
  }

  /** Whether nothing more is submitted: after a stop, or in an outage that has lasted too long to be waited for. */
  get isClosed(): boolean {
    if (this.#stopped !== null) return true;
    return this.#outage !== null && this.#probeWaitMs(this.#outage) === null;
  }

  /** Whether no outage ends the run: that of a server. */
  get keepsTrying(): boolean {
    return this.#deps.waits !== undefined;
  }

  /** Time until the next submit, in milliseconds, as far as it is known; 0 if one may be made now. */
  get waitMs(): number {
    const probeMs = this.#outage === null ? 0 : (this.#probeWaitMs(this.#outage) ?? 0);
    return Math.max(0, this.#submits.leftMs, probeMs);
  }

  /** Notes that the provider works on a job of this run. @returns ends that */
  jobBegan(): () => void {
    const job = {};
    this.#jobs.add(job);
    return () => void this.#jobs.delete(job);
  }

  /** Whether the provider works on a job of this run: what is refused with 429 then only has to wait for that. */
  get hasOpenJobs(): boolean {
    return this.#jobs.size > 0;
  }

  /** Submits nothing more; the first error is kept. Polls go on. */
  stop(error: ImggenError): void {
    this.#stopped ??= error;
    this.#stop.abort();
    this.#queue.wakeAll();
  }

  /**
   * Waits until a request may be submitted. Call it before an attempt is recorded, or a request that only waits would look
   * as if it was submitted. The pass must be returned with `leave`.
   * @returns null if it is given up: `stopped` or `outage` has the reason @throws the signal's reason
   */
  async enter(signal: AbortSignal): Promise<Pass | null> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#stopped !== null) return null;
      const outage = this.#outage;
      if ((outage && this.#probe) || this.#passes.size >= this.#width) {
        await this.#queue.wait(signal);
        continue;
      }
      const waitMs = outage ? this.#probeWaitMs(outage) : 0;
      if (waitMs === null) return null;
      const pass: Pass = { isProbe: outage !== null };
      if (pass.isProbe) this.#probe = pass;
      this.#passes.add(pass);
      let isReady = false;
      try {
        if (outage) await this.#sleep(waitMs, signal, outage.wake.signal);
        while (this.#submits.leftMs > 0 && this.#stopped === null)
          await this.#sleep(this.#submits.leftMs, signal);
        isReady = this.check(pass, signal);
        if (isReady) return pass;
      } finally {
        if (!isReady) this.leave(pass);
      }
    }
  }

  /**
   * Whether a request may still be submitted, after other waits and right before the attempt is recorded. If not, its
   * holder returns its turn and the pass, and enters again. Does not wait.
   */
  check(pass: Pass, signal: AbortSignal): boolean {
    return !signal.aborted && this.#stopped === null && !this.isStale(pass) && this.#submits.leftMs <= 0;
  }

  /** Whether an outage has begun since the pass was given. */
  isStale(pass: Pass): boolean {
    return this.#outage !== null && this.#probe !== pass;
  }

  /** Returns a pass, used or not. */
  leave(pass: Pass): void {
    this.#passes.delete(pass);
    if (this.#probe === pass) this.#probe = null;
    this.#queue.wakeAll();
  }

  /**
   * Takes note of the end of an attempt. Call it before the request's turn is released, so that a refused account stops
   * whatever waits for that turn.
   * @param signal under which it was submitted @param requestKey names the request: one that always fails is no outage
   * @param maxBusyMs longest pause that a run waits for; a server waits for any
   */
  report(
    pass: Pass,
    reply: SubmitReply,
    signal: AbortSignal,
    requestKey: string,
    maxBusyMs: number = POLICY.submit.maxBusyMs,
  ): void {
    // A reply that was not waited for says nothing about the provider.
    const isAborted = signal.aborted && !(signal.reason instanceof TimeLimitError);
    switch (reply.outcome) {
      case "accepted":
      case "made":
        this.#submits.reset();
        this.#width += 1;
        this.#answered();
        break;
      case "rate_limited":
        this.#slowDown(reply, maxBusyMs);
        this.#answered();
        break;
      case "refused":
        if (!isAccountError(reply.error)) this.#answered();
        else if (this.keepsTrying) this.#failed(pass, "account", reply.error.message, reply.error);
        else this.stop(reply.error);
        break;
      case "not_sent":
        // A lasting error is no outage: waiting would not help.
        if (!isAborted && (this.keepsTrying || !isLasting(reply)))
          this.#failed(pass, "unsent", reply.error?.message ?? connectionErrorText(reply.cause));
        break;
      case "unknown":
        if (!isAborted) this.#lost(pass, reply.why, requestKey);
    }
  }

  /** Makes the next probe at once: the outage may be over by now. Many new tasks are one reason. */
  retry(): void {
    const outage = this.#outage;
    if (outage === null || this.#nowMs - outage.failedMs < POLICY.outage.minRetryMs[outage.kind]) return;
    outage.isDue = true;
    const { wake } = outage;
    outage.wake = new AbortController();
    wake.abort();
  }

  /** As the method of `PollLimit`: neither a pause of submits nor an outage holds up polls. */
  async poll(
    poll: () => Promise<PollReply>,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<PollReply> {
    const reply = await this.#polls.poll(poll, timeoutMs, signal);
    if (!signal.aborted) this.#polled(reply);
    return reply;
  }

  /** Says that running tasks cannot be polled, and that they can again. An outage of submits has been said. */
  #polled(reply: PollReply): void {
    if (reply.outcome !== "retry" || reply.connectionError === null) {
      if (this.#unpolled?.isSaid && this.#outage === null) this.#deps.onOutage?.({ down: false });
      this.#unpolled = null;
      return;
    }
    this.#unpolled ??= { sinceMs: this.#nowMs, isSaid: false };
    const isLong = this.#nowMs - this.#unpolled.sinceMs >= POLICY.poll.outageMs;
    if (this.#unpolled.isSaid || !isLong || this.#outage !== null) return;
    this.#unpolled.isSaid = true;
    this.#deps.onOutage?.({ down: true, why: reply.why, isOfPolls: true });
  }

  get #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  /** Sleeps, at most until the run is stopped or `wake` aborts. @throws the signal's reason */
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
    this.#width = Math.max(1, Math.floor(Math.min(this.#width, this.#passes.size) / 2));
    const { leftMs } = this.#submits;
    if (!this.keepsTrying && leftMs > Math.max(maxBusyMs, POLICY.submit.maxBusyMs))
      this.stop(tooLong(error, leftMs));
  }

  #answered(): void {
    this.#hasAnswered = true;
    this.#lostInARow = 0;
    this.#lostRequests.clear();
    this.#queue.wakeAll();
    const outage = this.#outage;
    if (outage === null) return;
    this.#outage = null;
    this.#probe = null;
    outage.wake.abort();
    this.#deps.onOutage?.({ down: false });
  }

  #lost(pass: Pass, why: string, requestKey: string): void {
    this.#lostInARow += 1;
    this.#lostRequests.add(requestKey);
    const { lostInARow, minRequests } = POLICY.outage;
    const isOutage = this.#lostInARow >= lostInARow && this.#lostRequests.size >= minRequests;
    if (isOutage || this.#outage !== null) this.#failed(pass, "lost", why);
  }

  #failed(pass: Pass, kind: Outage["kind"], why: string, refusal: ImggenError | null = null): void {
    const facts = { kind, why, refusal, failedMs: this.#nowMs };
    const isDue = false;
    const before = this.#outage;
    const refusedBefore = before?.refusal?.message;
    if (before === null) {
      this.#outage = { ...facts, beganMs: facts.failedMs, probes: 0, isDue, wake: new AbortController() };
    } else {
      if (pass === this.#probe) before.probes += 1;
      // Once an attempt may have been charged, the waits stay those of lost ones.
      if (before.kind !== "lost" || kind !== "unsent") Object.assign(before, facts);
      Object.assign(before, { isDue, failedMs: facts.failedMs });
    }
    if (before === null || (refusal !== null && refusal.message !== refusedBefore))
      this.#deps.onOutage?.({ down: true, why });
  }

  /** Wait before the next probe; null if there is none. */
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

/** Whether another attempt would fail to be sent too: a rejected certificate, a full disk. */
export function isLasting({ cause, error }: Extract<SubmitReply, { outcome: "not_sent" }>): boolean {
  return error?.type === "save_failed" || !isRetryable(cause);
}

function tooLong({ message }: ImggenError, ms: number): ServiceError {
  const busy = message.replace(/\.$/, "");
  return new ServiceError(`${busy}, and asks to wait ${formatDuration(ms)}.`, { charged: "no" });
}
