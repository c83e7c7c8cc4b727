import { NetworkError, ServiceError } from "../../api/api-errors.ts";
import { connectionErrorText } from "../../api/connection-errors.ts";
import { TransportError } from "../../api/transport.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import {
  type Job,
  type MadeImage,
  type PollReply,
  type Provider,
  type SubmitHow,
  type SubmitReply,
  TimeLimitError,
} from "../../providers/provider.ts";
import type { AdmittedProvider } from "../deps.ts";
import { isOfAccount } from "../errors.ts";
import { isLasting } from "../task/submit-once.ts";
import { CircuitBreaker, type CircuitBreakerDeps, type Ticket } from "./circuit-breaker.ts";
import { pollWithinLimit, RateLimiter, type RateLimiterDeps } from "./rate-limiter.ts";

/** How long the service may ask all rows to wait before a batch gives up. */
const PATIENCE_MS = 180_000;

/**
 * Decides when a row of a batch may be submitted. All rows share one rate limiter, one circuit breaker and one stop,
 * for when the account cannot pay for more.
 */
export class Admission {
  readonly provider: Provider;
  readonly rateLimiter: RateLimiter;
  readonly breaker: CircuitBreaker;
  /** The last error that kept a submit from being sent: its row waits for the service to be back. */
  outageError: ImggenError | null = null;
  /** Whether an outage never ends it, and a refused account is tried again later: a server's. */
  readonly keepsTrying: boolean;
  readonly #patienceMs: number;
  #stopped: ImggenError | null = null;

  constructor(provider: Provider, deps: RateLimiterDeps & CircuitBreakerDeps) {
    this.provider = provider;
    this.keepsTrying = deps.waits !== undefined;
    this.#patienceMs = this.keepsTrying ? Number.POSITIVE_INFINITY : PATIENCE_MS;
    this.rateLimiter = new RateLimiter(deps);
    this.breaker = new CircuitBreaker(deps);
  }

  /** Why no more rows are submitted; null while rows are submitted. */
  get stopped(): ImggenError | null {
    return this.#stopped;
  }

  stop(error: ImggenError): void {
    this.#stopped ??= error;
  }

  /**
   * Waits until a row may be submitted. Call it before the intent is recorded: otherwise a row that only waits would
   * look as if it may have been sent. Release the result when done.
   * @returns null if nothing more is submitted
   * @throws the signal's reason
   */
  async admit(signal: AbortSignal): Promise<AdmittedRequests | null> {
    if (this.rateLimiter.leftMs > this.#patienceMs) this.stop(tooLong(this.rateLimiter.leftMs));
    if (this.#stopped) return null;
    const ticket = await this.enter(signal);
    if (ticket === null) return null;
    if (!this.#stopped) return new AdmittedRequests(this, ticket);
    this.leave(ticket);
    return null;
  }

  /** Waits for the breaker and for a place. @returns null if nothing more is submitted @throws the signal's reason */
  async enter(signal: AbortSignal): Promise<Ticket | null> {
    const ticket = await this.breaker.enter(signal);
    if (ticket === null) return null;
    try {
      await this.rateLimiter.enter(signal);
      return ticket;
    } catch (error) {
      this.breaker.withdrawn(ticket);
      throw error;
    }
  }

  /** Returns a place, used or not. */
  leave(ticket: Ticket): void {
    this.rateLimiter.leave();
    this.breaker.withdrawn(ticket);
  }
}

/** A provider as one row sees it: each submit waits for admission. */
export class AdmittedRequests implements AdmittedProvider {
  readonly version = 1;
  /** Absent where the provider has none: that says that it cannot stop what it has accepted. */
  readonly cancel?: NonNullable<Provider["cancel"]>;
  readonly place?: NonNullable<Provider["place"]>;
  readonly #admission: Admission;
  /** The ticket of its next submit; null if it must wait for admission first. */
  #ticket: Ticket | null;
  /** The last reply to a submit. */
  #last: SubmitReply | null = null;

  /** @param ticket from `admit`, so that the first submit does not wait; null: it waits */
  constructor(admission: Admission, ticket: Ticket | null) {
    this.#admission = admission;
    this.#ticket = ticket;
    const { provider } = admission;
    if (provider.cancel) this.cancel = provider.cancel.bind(provider);
    if (provider.place) this.place = provider.place.bind(provider);
  }

  get limits(): Provider["limits"] {
    return this.#admission.provider.limits;
  }

  get downloadHeaders(): Readonly<Record<string, string>> | undefined {
    return this.#admission.provider.downloadHeaders;
  }

  /** Waits for the ticket of the next submit. */
  async awaitAdmission(signal: AbortSignal): Promise<SubmitReply | null> {
    if (signal.aborted) return this.#last ?? notTried();
    // Its ticket is from before an outage, which began while it waited for its turn at the provider.
    if (this.#ticket?.probe === false && this.#admission.breaker.isDown) this.release();
    this.#ticket ??= await this.#further(signal);
    return this.#ticket === null ? (this.#last ?? notTried()) : null;
  }

  async submit(job: Job, how: SubmitHow): Promise<SubmitReply> {
    const notAdmitted = await this.awaitAdmission(how.signal);
    const ticket = this.#ticket;
    if (notAdmitted || ticket === null) return notAdmitted ?? notTried();
    this.#ticket = null;
    try {
      const withheld = this.#withheld(ticket);
      if (withheld !== null) return withheld;
      const reply = await this.#admission.provider.submit(job, how);
      this.#last = reply;
      this.#report(reply, ticket, how.signal);
      return reply;
    } finally {
      this.#admission.leave(ticket);
    }
  }

  /** A ticket for another attempt; null while the service is down, because only `admit` waits for an outage to end. */
  async #further(signal: AbortSignal): Promise<Ticket | null> {
    if (this.#admission.breaker.isDown) return null;
    return this.#admission.enter(signal).catch(() => null);
  }

  /** The outage that has begun since the ticket was given: while the request waited in a line. One at a time tries. */
  #withheld({ probe }: Ticket): SubmitReply | null {
    const { breaker, keepsTrying } = this.#admission;
    if (!keepsTrying || probe || breaker.outage === null) return null;
    const { why, refusal } = breaker.outage;
    if (refusal !== null) return { outcome: "refused", error: refusal };
    return { ...notTried(), error: new NetworkError(why) };
  }

  poll(taskId: string, timeoutMs: number | undefined, signal: AbortSignal): Promise<PollReply> {
    return pollWithinLimit(this.#admission.provider, this.#admission.rateLimiter, taskId, timeoutMs, signal);
  }

  async recover(job: Job, how: Omit<SubmitHow, "onSent">): Promise<SubmitReply | null> {
    return (await this.#admission.provider.recover?.(job, how)) ?? null;
  }

  async images(job: Job): Promise<MadeImage[]> {
    return (await this.#admission.provider.images?.(job)) ?? [];
  }

  async close(): Promise<void> {}

  /** Returns an unused ticket. */
  release(): void {
    if (this.#ticket) this.#admission.leave(this.#ticket);
    this.#ticket = null;
  }

  #report(reply: SubmitReply, ticket: Ticket, signal: AbortSignal): void {
    const { breaker, rateLimiter, keepsTrying } = this.#admission;
    if (reply.outcome === "accepted" || reply.outcome === "made") rateLimiter.speedUp();
    if (reply.outcome === "rate_limited") rateLimiter.slowDown(reply.retryAfterMs);
    if (signal.aborted && !(signal.reason instanceof TimeLimitError)) return;
    // Not an outage: waiting would not help.
    if (reply.outcome === "not_sent" && isLasting(reply) && !keepsTrying) return;
    if (reply.outcome === "not_sent")
      breaker.unreachable(ticket, reply.error?.message ?? connectionErrorText(reply.cause));
    else if (reply.outcome === "unknown") breaker.lost(ticket, reply.why);
    else if (reply.outcome === "refused" && keepsTrying && isOfAccount(reply.error))
      breaker.accountRefused(ticket, reply.error);
    else breaker.answered();
  }
}

function tooLong(ms: number): ServiceError {
  const wait = formatDuration(ms);
  return new ServiceError(`The service is busy (HTTP 429) and asks to wait ${wait}.`, { charged: "no" });
}

function notTried() {
  return { outcome: "not_sent" as const, cause: new TransportError("not attempted", { sent: false }) };
}
