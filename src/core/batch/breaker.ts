import type { Clock } from "../../lib/clock.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface BreakerDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Told when submitting stops, and when it goes on. */
  onOutage: (outage: { down: true; why: string } | { down: false }) => void;
}

interface Outage {
  sinceMs: number;
  /** Submits that were risked since, in vain. */
  probes: number;
  /** Whether submits were lost, each of which may have been charged; else not one could be sent. */
  costly: boolean;
}

/** A submit that cannot be sent costs nothing, so it may be tried often; the last wait is used again and again. */
const FREE_WAITS_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** A submit that is lost may have been charged: after the last of these, no more is risked. */
const COSTLY_WAITS_MS = [2_000, 5_000, 15_000, 30_000, 60_000];
/** So many lost submits in a row are no accident. */
const LOST_IN_A_ROW = 3;

const PATIENCE_MS = 300_000;
/** A service that has never answered is more likely misspelled than down. */
const FIRST_PATIENCE_MS = 5_000;

/**
 * Stops submitting while the service is down, and goes on when it is back. Down is: it cannot be reached, or
 * several submits in a row were lost. Then one row at a time tries, after longer and longer waits.
 */
export class Breaker {
  readonly #deps: BreakerDeps;
  #outage: Outage | null = null;
  #probing = false;
  #lost = 0;
  #hasAnswered = false;
  readonly #line = new WaitingLine();

  constructor(deps: BreakerDeps) {
    this.#deps = deps;
  }

  /**
   * Waits until a submit may be risked. Whoever is let through must report how it went.
   * @returns false where the service was down for too long: nothing more is submitted
   * @throws the signal's reason
   */
  async enter(signal: AbortSignal): Promise<boolean> {
    while (this.#outage && this.#probing) await this.#line.wait(signal);
    if (!this.#outage) return true;
    const waitMs = this.#waitMs(this.#outage);
    if (waitMs === null) return false;
    this.#probing = true;
    try {
      await this.#deps.clock.sleep(waitMs, signal);
      return true;
    } catch (error) {
      this.withdrawn();
      throw error;
    }
  }

  /** The service gave an answer that makes sense, be it a refusal. */
  answered(): void {
    this.#hasAnswered = true;
    this.#lost = 0;
    if (this.#outage) this.#deps.onOutage({ down: false });
    this.#outage = null;
    this.withdrawn();
  }

  /** The submit could not be sent at all. */
  unreachable(why: string): void {
    this.#failed(why, false);
  }

  /** The submit was sent, and nobody knows what became of it. */
  lost(why: string): void {
    this.#lost += 1;
    if (this.#outage || this.#lost >= LOST_IN_A_ROW) this.#failed(why, true);
    else this.withdrawn();
  }

  /** Whoever was let through did not submit after all. */
  withdrawn(): void {
    this.#probing = false;
    this.#line.wakeAll();
  }

  #failed(why: string, costly: boolean): void {
    if (this.#outage) {
      if (this.#probing) this.#outage.probes += 1;
      this.#outage.costly ||= costly;
    } else {
      this.#outage = { sinceMs: this.#deps.clock.monotonicMs(), probes: 0, costly };
      this.#deps.onOutage({ down: true, why });
    }
    this.withdrawn();
  }

  /** How long to wait before the next try; null where there is to be none. */
  #waitMs({ sinceMs, probes, costly }: Outage): number | null {
    if (costly) return COSTLY_WAITS_MS[probes] ?? null;
    const patienceMs = this.#hasAnswered ? PATIENCE_MS : FIRST_PATIENCE_MS;
    if (this.#deps.clock.monotonicMs() - sinceMs >= patienceMs) return null;
    return FREE_WAITS_MS[probes] ?? (FREE_WAITS_MS.at(-1) as number);
  }
}
