import { connectionErrorText, isCertificateError } from "../../api/connection-errors.ts";
import { ServiceError } from "../../api/errors.ts";
import { TransportError } from "../../api/exchange.ts";
import type { ImageService, PollReply, SubmitReply } from "../../api/service.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { ImggenError } from "../../lib/errors.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { pollAtPace } from "../polling/paced-polls.ts";
import { CircuitBreaker, type CircuitBreakerDeps, type Ticket } from "./circuit-breaker.ts";
import { RateLimiter, type RateLimiterDeps } from "./rate-limiter.ts";

const PATIENCE_MS = 180_000;

/**
 * What all rows of a batch share on their way to the service: one pace, one breaker, and one end, when the
 * account can pay for no more.
 */
export class Admission {
  readonly service: ImageService;
  readonly rateLimiter: RateLimiter;
  readonly breaker: CircuitBreaker;
  readonly #patienceMs: number;
  #stopped: ImggenError | null = null;

  /** @param deps `patienceMs`: how long the service may ask all rows to wait before the batch gives up */
  constructor(service: ImageService, deps: RateLimiterDeps & CircuitBreakerDeps & { patienceMs?: number }) {
    this.service = service;
    this.#patienceMs = deps.patienceMs ?? PATIENCE_MS;
    this.rateLimiter = new RateLimiter(deps);
    this.breaker = new CircuitBreaker(deps);
  }

  /** Why no more rows are submitted; null while they are. */
  get stopped(): ImggenError | null {
    return this.#stopped;
  }

  stop(error: ImggenError): void {
    this.#stopped ??= error;
  }

  /**
   * Waits until a row may be bought: before anything of it is written down, so that a row that waits is not
   * taken for one that was sent. The pass must be given back.
   * @returns null where nothing is submitted any more
   * @throws the signal's reason
   */
  async admit(signal: AbortSignal): Promise<AdmittedService | null> {
    if (this.rateLimiter.leftMs > this.#patienceMs) this.stop(tooLong(this.rateLimiter.leftMs));
    if (this.#stopped) return null;
    const ticket = await this.enter(signal);
    if (ticket === null) return null;
    if (!this.#stopped) return new AdmittedService(this, ticket);
    this.leave(ticket);
    return null;
  }

  /** Waits for the breaker and for a place. @returns null where it will never come @throws the signal's reason */
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

  /** Gives a place back, used or not. */
  leave(ticket: Ticket): void {
    this.rateLimiter.leave();
    this.breaker.withdrawn(ticket);
  }
}

/** A row's way to the service, at the pace of all. */
export class AdmittedService implements ImageService {
  readonly #admission: Admission;
  /** What its next submit goes with; null where it must wait for its turn first. */
  #ticket: Ticket | null;
  /** What the service said last. */
  #last: SubmitReply | null = null;

  /** @param ticket what it was admitted with, so that its first submit goes at once */
  constructor(admission: Admission, ticket: Ticket | null) {
    this.#admission = admission;
    this.#ticket = ticket;
  }

  get submitTimeoutMs(): number {
    return this.#admission.service.submitTimeoutMs;
  }

  /** The next submit goes with the ticket that this waits for. */
  async turn(signal: AbortSignal): Promise<SubmitReply | null> {
    if (signal.aborted) return this.#last ?? notTried();
    this.#ticket ??= await this.#further(signal);
    return this.#ticket === null ? (this.#last ?? notTried()) : null;
  }

  async submit(request: GenerationRequest, signal: AbortSignal, onSent?: () => void): Promise<SubmitReply> {
    const noTurn = await this.turn(signal);
    const ticket = this.#ticket;
    if (noTurn || ticket === null) return noTurn ?? notTried();
    this.#ticket = null;
    try {
      const reply = await this.#admission.service.submit(request, signal, onSent);
      this.#last = reply;
      this.#report(reply, ticket, signal);
      return reply;
    } finally {
      this.#admission.leave(ticket);
    }
  }

  /** A turn for a further try; none while the service is down: that is waited for before anything is begun. */
  async #further(signal: AbortSignal): Promise<Ticket | null> {
    if (this.#admission.breaker.isDown) return null;
    return this.#admission.enter(signal).catch(() => null);
  }

  poll(taskId: string, timeoutMs: number | undefined, signal: AbortSignal): Promise<PollReply> {
    return pollAtPace(this.#admission.service, this.#admission.rateLimiter, taskId, timeoutMs, signal);
  }

  /** Gives back what was not used. */
  release(): void {
    if (this.#ticket) this.#admission.leave(this.#ticket);
    this.#ticket = null;
  }

  #report(reply: SubmitReply, ticket: Ticket, signal: AbortSignal): void {
    const { breaker, rateLimiter: pace } = this.#admission;
    if (reply.outcome === "accepted") pace.speedUp();
    if (reply.outcome === "rate_limited") pace.slowDown(reply.retryAfterMs);
    if (signal.aborted) return;
    // No outage that passes by itself.
    if (reply.outcome === "not_sent" && isCertificateError(reply.cause)) return;
    if (reply.outcome === "not_sent") breaker.unreachable(ticket, connectionErrorText(reply.cause));
    else if (reply.outcome === "unknown") breaker.lost(ticket, reply.why);
    else breaker.answered();
  }
}

function tooLong(ms: number): ServiceError {
  const wait = formatDuration(ms);
  return new ServiceError(`The service is busy (HTTP 429) and asks to wait ${wait}.`, { charged: "no" });
}

function notTried(): SubmitReply {
  return { outcome: "not_sent", cause: new TransportError("not attempted", { sent: false }) };
}
