import path from "node:path";
import { type Claim, isClaimed, takeClaim } from "../../lib/claim.ts";
import type { Clock } from "../../lib/clock.ts";
import { isPresent, removeIfPossible } from "../../lib/durable.ts";
import type { Processes } from "../../lib/processes.ts";
import { readText } from "../../lib/read-file.ts";
import { replaceWhole } from "../../lib/write-whole.ts";

/** The right to have one task with the generator. */
export interface Slot {
  /** @param closedForMs for how long nobody may take it, because the generator may still be working; default 0 */
  release(closedForMs?: number): Promise<void>;
}

/** A slot; or why there is none: tasks have them all, or some are closed. */
export type SlotResult = { slot: Slot; none: null } | { slot: null; none: "taken" | "closed" };

interface SlotLimits {
  /** How many tasks may be with the generator at once, over all processes. */
  concurrency: number;
  /** For how long other machines, which cannot check whether its owner is alive, respect a slot. */
  forMs: number;
}

/** A limit on concurrency over all processes that share a folder. */
export class GeneratorSlots {
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #forMs: number;
  readonly #processes: Processes;
  readonly #clock: Pick<Clock, "now">;

  constructor(
    folder: string,
    { concurrency, forMs }: SlotLimits,
    { processes, clock }: { processes: Processes; clock: Pick<Clock, "now"> },
  ) {
    this.#folder = folder;
    this.#names = Array.from({ length: concurrency }, (_, index) => `slot-${index + 1}`);
    this.#forMs = forMs;
    this.#processes = processes;
    this.#clock = clock;
  }

  async take(): Promise<SlotResult> {
    let none: "taken" | "closed" = "taken";
    for (const name of this.#names) {
      if (await this.#isClosed(name)) none = "closed";
      else {
        const taken = await takeClaim(this.#folder, name, null, this.#processes, this.#forMs);
        if (!taken.isTaken) return { slot: this.#slot(name, taken.claim), none: null };
      }
    }
    return { slot: null, none };
  }

  /** Whether tasks of living processes have all slots. */
  async areTaken(): Promise<boolean> {
    const claimed = this.#names.map((name) => isClaimed(this.#folder, name, this.#processes));
    return (await Promise.all(claimed)).every((isTaken) => isTaken);
  }

  #slot(name: string, claim: Claim): Slot {
    return {
      release: async (closedForMs = 0) => {
        try {
          const until = String(this.#clock.now() + closedForMs);
          if (closedForMs > 0) await replaceWhole(this.#closedFile(name), until, 0o600);
        } finally {
          await claim.release();
        }
      },
    };
  }

  async #isClosed(name: string): Promise<boolean> {
    const file = this.#closedFile(name);
    if (!isPresent(file)) return false;
    // Another process may remove it meanwhile.
    const untilMs = Number(await readText(file).catch(() => "0"));
    if (this.#clock.now() < untilMs) return true;
    removeIfPossible(file);
    return false;
  }

  #closedFile(name: string): string {
    return path.join(this.#folder, `${name}.busy`);
  }
}
