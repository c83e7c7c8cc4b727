import type { Clock } from "../../lib/clock.ts";
import { WaitQueue } from "../../lib/concurrency.ts";

export interface CircuitBreakerDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Called when submitting stops, and when it continues. */
  onOutage: (outage: { down: true; why: string } | { down: false }) => void;
}

/** Permission for one submit. `probe`: it is the one that tries whether the service is back. */
export type Ticket = { probe: boolean };

interface Outage {
  sinceMs: number;
  /** Aborts when the service has answered. */
  over: AbortController;
  /** Failed attempts since the outage began. Submits that were already under way then do not count. */
  probes: number;
  /** Whether submits were lost, so that each attempt may be charged; otherwise none could be sent. */
  costly: boolean;
}

/** Waits between attempts if submits cannot be sent: these cost nothing, so the last wait is repeated. */
const FREE_WAITS_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** Waits between attempts if submits are lost: each may be charged, so no attempt follows the last wait. */
const COSTLY_WAITS_MS = [2_000, 5_000, 15_000, 30_000, 60_000];
/** This many lost submits in a row are an outage. */
const LOST_IN_A_ROW = 3;

const PATIENCE_MS = 300_000;
/** Patience with a service that has never answered: more likely its address is wrong than the service down. */
const FIRST_PATIENCE_MS = 5_000;
const FEWEST_PROBES = 3;

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
      await this.#rest(waitMs, this.#outage.over.signal, signal);
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
    outage.over.abort();
    this.#deps.onOutage({ down: false });
    this.#line.wakeAll();
  }

  /** The submit could not be sent at all. */
  unreachable(ticket: Ticket, why: string): void {
    this.#failed(ticket, why, false);
  }

  /** The submit was sent and its reply was lost. */
  lost(ticket: Ticket, why: string): void {
    this.#lost += 1;
    if (this.#outage || this.#lost >= LOST_IN_A_ROW) this.#failed(ticket, why, true);
  }

  /** The holder of the ticket did not submit after all. */
  withdrawn(ticket: Ticket): void {
    if (this.#prober !== ticket) return;
    this.#prober = null;
    this.#line.wakeAll();
  }

  #failed(ticket: Ticket, why: string, costly: boolean): void {
    if (this.#outage) {
      if (ticket === this.#prober) this.#outage.probes += 1;
      this.#outage.costly ||= costly;
    } else {
      const sinceMs = this.#deps.clock.monotonicMs();
      this.#outage = { sinceMs, over: new AbortController(), probes: 0, costly };
      this.#deps.onOutage({ down: true, why });
    }
    this.withdrawn(ticket);
  }

  /** Waits for this long, or until the outage is over. @throws the signal's reason */
  async #rest(ms: number, over: AbortSignal, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(ms, AbortSignal.any([over, signal]));
    } catch (error) {
      if (signal.aborted || !over.aborted) throw error;
    }
  }

  /** How long to wait before the next attempt; null if there is none. */
  #waitMs({ sinceMs, probes, costly }: Outage): number | null {
    if (costly) return COSTLY_WAITS_MS[probes] ?? null;
    const patienceMs = this.#hasAnswered ? PATIENCE_MS : FIRST_PATIENCE_MS;
    const isOver = this.#deps.clock.monotonicMs() - sinceMs >= patienceMs;
    // An attempt may last as long as the connect timeout, so a few are made however long the outage is.
    if (isOver && probes >= FEWEST_PROBES) return null;
    return FREE_WAITS_MS[probes] ?? (FREE_WAITS_MS.at(-1) as number);
  }
}
