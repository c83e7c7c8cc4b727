import { TransportError } from "../../api/exchange.ts";
import type { ImageService, PollReply, SubmitReply } from "../../api/service.ts";
import { troubleText } from "../../api/trouble.ts";
import type { ImggenError } from "../../lib/errors.ts";
import type { GenerationRequest } from "../../models/request.ts";
import { Breaker, type BreakerDeps } from "./breaker.ts";
import { Pace, type PaceDeps } from "./pace.ts";

/**
 * What all rows of a batch share on their way to the service: one pace, one breaker, and one end, when the
 * account can pay for no more.
 */
export class Gate {
  readonly service: ImageService;
  readonly pace: Pace;
  readonly breaker: Breaker;
  #stopped: ImggenError | null = null;

  constructor(service: ImageService, deps: PaceDeps & BreakerDeps) {
    this.service = service;
    this.pace = new Pace(deps);
    this.breaker = new Breaker(deps);
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
  async admit(signal: AbortSignal): Promise<Pass | null> {
    if (this.#stopped || !(await this.enter(signal))) return null;
    if (!this.#stopped) return new Pass(this, true);
    this.leave();
    return null;
  }

  /** Waits for the breaker and for a place. @throws the signal's reason */
  async enter(signal: AbortSignal): Promise<boolean> {
    if (!(await this.breaker.enter(signal))) return false;
    try {
      await this.pace.enter(signal);
      return true;
    } catch (error) {
      this.breaker.withdrawn();
      throw error;
    }
  }

  /** Gives a place back that was not used. */
  leave(): void {
    this.pace.leave();
    this.breaker.withdrawn();
  }
}

/** A row's way to the service, at the pace of all. */
export class Pass implements ImageService {
  readonly #gate: Gate;
  #admitted: boolean;

  /** @param admitted whether the gate has let it through, so that its first submit goes at once */
  constructor(gate: Gate, admitted: boolean) {
    this.#gate = gate;
    this.#admitted = admitted;
  }

  async submit(request: GenerationRequest, signal: AbortSignal, onSent?: () => void): Promise<SubmitReply> {
    let last = notSent("the service cannot be reached");
    // What never left this machine is sent when the service is back, however long that takes.
    while (last.outcome === "not_sent" && !signal.aborted) {
      if (!(await this.#turn(signal))) break;
      last = await this.#gate.service.submit(request, signal, onSent);
      this.#admitted = false;
      this.#gate.pace.leave();
      this.#report(last, signal);
    }
    return last;
  }

  async poll(taskId: string, timeoutMs: number | undefined, signal: AbortSignal): Promise<PollReply> {
    // A signal ends the wait; the poll itself then says so.
    await this.#gate.pace.pause(signal).catch(() => {});
    const reply = await this.#gate.service.poll(taskId, timeoutMs, signal);
    if (reply.outcome === "retry" && reply.rateLimited) this.#gate.pace.slowDown(reply.retryAfterMs);
    return reply;
  }

  /** Gives back what was not used. */
  release(): void {
    if (!this.#admitted) return;
    this.#admitted = false;
    this.#gate.leave();
  }

  /** Waits for the next submit's turn; false where it will never come. */
  async #turn(signal: AbortSignal): Promise<boolean> {
    if (this.#admitted) return true;
    this.#admitted = await this.#gate.enter(signal).catch(() => false);
    return this.#admitted;
  }

  #report(reply: SubmitReply, signal: AbortSignal): void {
    const { breaker, pace } = this.#gate;
    if (reply.outcome === "accepted") pace.speedUp();
    if (reply.outcome === "rate_limited") pace.slowDown(reply.retryAfterMs);
    if (signal.aborted) breaker.withdrawn();
    else if (reply.outcome === "not_sent") breaker.unreachable(troubleText(reply.cause));
    else if (reply.outcome === "unknown") breaker.lost(reply.why);
    else breaker.answered();
  }
}

function notSent(why: string): SubmitReply {
  return { outcome: "not_sent", cause: new TransportError(why, { sent: false }) };
}
