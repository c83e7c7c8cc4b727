import { makeFolder } from "../../lib/durable.ts";
import type { LineDeps, LineLimits, Turn, WaitOptions } from "./turn.ts";
import { Tickets } from "./turn-files.ts";
import { waitersIn } from "./waiters.ts";

export type { Waiting } from "../../providers/provider.ts";
export type { Turn } from "./turn.ts";

/**
 * A line in which requests wait for their turn, over all processes that share a folder. Each has a ticket there, a file
 * that holds a lease and whose name sorts by its order:
 * - `<order>.<mark>.waiting` is a waiter. It lasts 6 s and is renewed every 2 s: a waiter that is stopped lets the others
 *   pass, and has its place again when it continues.
 * - `<order>.<mark>.turn` is a turn. It lasts until the time limit and is never written again until it is released.
 *
 * A waiter that finds fewer than `concurrency` turns and waiters before it writes the ticket of a turn, and lists the
 * turns again. With more than `concurrency` of them, its own included, it removes its ticket and waits; else it has the
 * turn. So of those that try at the same moment, the one that wrote its ticket last sees the tickets of all others, and
 * never more than `concurrency` go on. A turn is never taken from its holder by a ticket that sorts before it. Two may
 * both step back; each sees the other's place then, and only the first tries again.
 */
export class Line {
  readonly #folder: string;
  readonly #limits: LineLimits;
  readonly #deps: LineDeps;
  #isSwept = false;

  constructor(folder: string, limits: LineLimits, deps: LineDeps) {
    this.#folder = folder;
    this.#limits = limits;
    this.#deps = deps;
  }

  /**
   * Waits for a turn.
   * @param order sorts by time, and is a part of a file's name
   * @throws the signal's reason; the disk's error
   */
  async take(order: string, how: WaitOptions): Promise<Turn> {
    how.signal.throwIfAborted();
    await makeFolder(this.#folder, 0o700);
    await this.#sweep();
    how.signal.throwIfAborted();
    return waitersIn(this.#folder, this.#deps).take(order, this.#limits, how);
  }

  async #sweep(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const { processes, clock } = this.#deps;
    // They are in nobody's way.
    await new Tickets(this.#folder, processes, clock).removeOldDrafts().catch(() => {});
  }
}
