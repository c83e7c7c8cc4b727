import type { Clock } from "../../lib/clock.ts";
import { WaitQueue } from "../../lib/concurrency.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { type OutageWaits, POLICY } from "./policy.ts";

export interface CircuitBreakerDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Called when submitting stops, and when it continues. */
  onOutage: (outage: { down: true; why: string } | { down: false }) => void;
  /** How long to wait between attempts, for whoever never gives up: a server. Absent: as a batch, which does. */
  waits?: OutageWaits | undefined;
}

/** Permission for one submit. `probe`: it is the one that tries whether the service is back. */
export type Ticket = { probe: boolean };

interface Outage {
  sinceMs: number;
  /** Aborts when the wait before the next attempt is over early: the service has answered, or there is a reason to try. */
  wake: AbortController;
  /** Failed attempts since the outage began. Submits that were already under way then do not count. */
  probes: number;
  failedMs: number;
  kind: keyof OutageWaits;
  why: string;
  refusal: ImggenError | null;
}

const { outage: OUTAGE } = POLICY;

/**
 * Stops submitting while the service is down, and continues when it is back. The service is down if it cannot be
 * reached, or if several submits in a row were lost. Then one row at a time tries, after longer and longer waits.
 */
export class CircuitBreaker {
  readonly #deps: CircuitBreakerDeps;
  #outage: Outage | null = null;
  #prober: Ticket | null = null;
  #lost = 0;
  #hasAnswered = false;
  readonly #line = new WaitQueue();

  constructor(deps: CircuitBreakerDeps) {
    this.#deps = deps;
  }

  /** Whether submitting is stopped, for now or permanently. */
  get isDown(): boolean {
    return this.#outage !== null;
  }

  /** Why submitting is stopped; null while it is not. `refusal`: what was said of the account. */
  get outage(): { why: string; refusal: ImggenError | null } | null {
    return this.#outage;
  }

  /**
   * Waits until a submit may be tried. The caller must report the result with the ticket.
   * @returns null if the service was down for too long: nothing more is submitted
   * @throws the signal's reason
   */
  async enter(signal: AbortSignal): Promise<Ticket | null> {
    while (this.#outage && this.#prober) await this.#line.wait(signal);
    if (!this.#outage) return { probe: false };
    const waitMs = this.#waitMs(this.#outage);
    if (waitMs === null) return null;
    const ticket = { probe: true };
    this.#prober = ticket;
    try {
      await this.#rest(waitMs, this.#outage.wake.signal, signal);
      return ticket;
    } catch (error) {
      this.withdrawn(ticket);
      throw error;
    }
  }

  /** The service gave a valid answer, possibly a refusal. */
  answered(): void {
    this.#hasAnswered = true;
    this.#lost = 0;
    const outage = this.#outage;
    this.#outage = null;
    this.#prober = null;
    if (outage === null) return;
    outage.wake.abort();
    this.#deps.onOutage({ down: false });
    this.#line.wakeAll();
  }

  /** The submit could not be sent at all. */
  unreachable(ticket: Ticket, why: string): void {
    this.#failed(ticket, "unsent", why);
  }

  /** The account was refused, so that no other request would fare better. */
  accountRefused(ticket: Ticket, error: ImggenError): void {
    this.#failed(ticket, "account", error.message, error);
  }

  /** The account may be in order by now: the next attempt is made at once. */
  retryAccount(): void {
    if (this.#outage?.kind !== "account") return;
    // Many tasks that come at once are one reason to try.
    if (this.#deps.clock.monotonicMs() - this.#outage.failedMs < OUTAGE.minAccountRetryMs) return;
    const { wake } = this.#outage;
    this.#outage.wake = new AbortController();
    wake.abort();
  }

  /** The submit was sent and its reply was lost. */
  lost(ticket: Ticket, why: string): void {
    this.#lost += 1;
    if (this.#outage || this.#lost >= OUTAGE.lostInARow) this.#failed(ticket, "lost", why);
  }

  /** The holder of the ticket did not submit after all. */
  withdrawn(ticket: Ticket): void {
    if (this.#prober !== ticket) return;
    this.#prober = null;
    this.#line.wakeAll();
  }

  #failed(ticket: Ticket, kind: keyof OutageWaits, why: string, refusal: ImggenError | null = null): void {
    const before = this.#outage;
    const failedMs = this.#deps.clock.monotonicMs();
    const said = before?.refusal?.message;
    if (before) {
      if (ticket === this.#prober) before.probes += 1;
      if (before.kind !== "lost" || kind !== "unsent")
        Object.assign(before, { kind, why, refusal, failedMs });
    } else {
      const wake = new AbortController();
      this.#outage = { sinceMs: failedMs, failedMs, wake, probes: 0, kind, why, refusal };
    }
    if (before === null || (refusal !== null && refusal.message !== said))
      this.#deps.onOutage({ down: true, why });
    this.withdrawn(ticket);
  }

  /** Waits for this long, or until the wait is over early. @throws the signal's reason */
  async #rest(ms: number, wake: AbortSignal, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(ms, AbortSignal.any([wake, signal]));
    } catch (error) {
      if (signal.aborted || !wake.aborted) throw error;
    }
  }

  /** How long to wait before the next attempt; null if there is none. */
  #waitMs({ sinceMs, probes, kind }: Outage): number | null {
    const waits = this.#deps.waits?.[kind];
    if (waits) return waits[Math.min(probes, waits.length - 1)] ?? null;
    if (kind !== "unsent") return OUTAGE.lostWaitsMs[probes] ?? null;
    const patienceMs = this.#hasAnswered ? OUTAGE.maxMs : OUTAGE.maxFirstMs;
    const isOver = this.#deps.clock.monotonicMs() - sinceMs >= patienceMs;
    // An attempt may last as long as the connect timeout, so a few are made however long the outage is.
    if (isOver && probes >= OUTAGE.minProbes) return null;
    return OUTAGE.unsentWaitsMs[probes] ?? (OUTAGE.unsentWaitsMs.at(-1) as number);
  }
}
