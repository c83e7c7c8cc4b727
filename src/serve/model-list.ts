import type { Clock } from "../lib/clock.ts";
import { isAmong } from "../models/check-request.ts";

/** How long a list counts as current, in milliseconds. */
const FRESH_MS = 60_000;

/** How long a client waits for a list, which it does only where its model seems to be none. */
const PATIENCE_MS = 2_000;

/** The names of a generator's models. Nothing waits for them but the refusal of a name that is not among them. */
export class ModelList {
  readonly #ask: () => Promise<readonly string[] | null>;
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  #names: readonly string[] | null = null;
  #askedMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(ask: () => Promise<readonly string[] | null>, clock: Pick<Clock, "monotonicMs" | "sleep">) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** The models as last heard; null where the generator has no list, or could not be asked. */
  get names(): readonly string[] | null {
    return this.#names;
  }

  /** Asks the generator, and waits for a moment at most. Never throws. */
  async refresh(): Promise<void> {
    this.#asking ??= this.#ask()
      .then(
        (names) => {
          this.#names = names !== null && names.length > 0 ? names : null;
        },
        () => {
          this.#names = null;
        },
      )
      .finally(() => {
        this.#askedMs = this.#clock.monotonicMs();
        this.#asking = null;
      });
    const over = new AbortController();
    const patience = this.#clock.sleep(PATIENCE_MS, over.signal).catch(() => {});
    await Promise.race([this.#asking, patience]);
    over.abort();
  }

  /** Whether the generator is known to have no model of this name. A model that has just come is asked for. */
  async lacks(name: string): Promise<boolean> {
    if (this.#names === null || isAmong(this.#names, name)) {
      if (this.#clock.monotonicMs() - this.#askedMs > FRESH_MS) void this.refresh();
      return false;
    }
    await this.refresh();
    return this.#names !== null && !isAmong(this.#names, name);
  }
}
