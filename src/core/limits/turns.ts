import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import { makeFolder } from "../../lib/durable.ts";
import type { Lease } from "../../lib/lease.ts";
import { isInSameScope, isSameProcess, type Processes, type ProcessIdentity } from "../../lib/processes.ts";
import { type HeldTicket, type Ticket, Tickets } from "../../lib/tickets.ts";
import type { Waiting } from "../../providers/provider.ts";

export type { Waiting } from "../../providers/provider.ts";

/** Permission to submit now. */
export interface Turn {
  /**
   * Ends the turn.
   * @param keepMs for how long nobody may have it, because the other side may still be at work: at most a day; default 0
   * @throws the disk's error; then the turn ends with its time limit, or its process
   */
  release(keepMs?: number): Promise<void>;
}

export interface LineLimits {
  /** Maximum number of turns at once, over all processes. */
  concurrency: number;
  /** A turn ends after this time, at most a day, even if its process lives. Milliseconds. */
  forMs: number;
}

export interface LineDeps {
  processes: Processes;
  clock: Pick<Clock, "now" | "sleep" | "monotonicMs">;
}

interface WaitOptions {
  signal: AbortSignal;
  /** Called whenever what it waits for changes. */
  onWait?: (waiting: Waiting) => void;
}

interface Waiter {
  sortKey: string;
  /** The state that `onWait` was called with last. */
  lastWaiting: Waiting | null;
  onWait: ((waiting: Waiting) => void) | undefined;
  resolve(turn: Turn): void;
  reject(reason: unknown): void;
  ignoreSignal(): void;
}

const TURN = "turn";
const WAIT = "wait";

/** A turn that ends is found by the folder's watcher; what else changes (a process dies, a lease ends), by polling. */
const POLL_MS = 200;

/** Time that a stopped process keeps its position in the queue, in milliseconds. */
const WAIT_MS = 6_000;

/**
 * The queue of one provider, over all processes that share a folder. The requests of this process wait in memory, in
 * their order; only the first of them has a `wait` ticket, among those of the other processes, and takes a `turn` ticket
 * when it is due. So a process costs one file, however many of its requests wait.
 */
export class Line {
  readonly #folder: string;
  readonly #limits: LineLimits;
  readonly #processes: Processes;
  readonly #clock: LineDeps["clock"];
  readonly #tickets: Tickets;
  /** Sorted by their order; of two with the same one, the one that came first. */
  readonly #waiting: Waiter[] = [];
  /** This process's place among those that wait. */
  #position: { ticket: HeldTicket; sortKey: string; count: number; renewAtMs: number } | null = null;
  #isServing = false;
  #isSwept = false;
  #waking = new AbortController();

  constructor(folder: string, limits: LineLimits, { processes, clock }: LineDeps) {
    this.#folder = folder;
    this.#limits = limits;
    this.#processes = processes;
    this.#clock = clock;
    this.#tickets = new Tickets(folder, processes, clock);
  }

  /**
   * Waits for a turn.
   * @param sortKey sorts by time, and is a part of a file's name
   * @throws the signal's reason; the disk's error
   */
  async take(sortKey: string, { signal, onWait }: WaitOptions): Promise<Turn> {
    signal.throwIfAborted();
    await makeFolder(this.#folder, 0o700);
    if (!this.#isSwept) this.#tickets.sweep();
    this.#isSwept = true;
    signal.throwIfAborted();
    return new Promise<Turn>((resolve, reject) => {
      const onAbort = () => this.#fail(waiter, signal.reason);
      const ignoreSignal = () => signal.removeEventListener("abort", onAbort);
      const waiter: Waiter = { sortKey: sortKey, lastWaiting: null, onWait, resolve, reject, ignoreSignal };
      signal.addEventListener("abort", onAbort, { once: true });
      const at = this.#waiting.findIndex((other) => other.sortKey > sortKey);
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
      if (this.#isServing) this.#wake();
      else void this.#serve();
    });
  }

  #wake(): void {
    this.#waking.abort();
  }

  /** Gives turns to the waiters of this process until there are none. */
  async #serve(): Promise<void> {
    this.#isServing = true;
    let watcher: FSWatcher | null | undefined;
    while (this.#waiting.length > 0) {
      if (this.#waking.signal.aborted) this.#waking = new AbortController();
      await this.#serveOnce();
      if (this.#waiting.length === 0) break;
      if (watcher === undefined) {
        watcher = this.#watch();
        // A turn may have ended before the folder was watched.
        this.#wake();
      }
      await this.#pause();
    }
    this.#leavePlace();
    watcher?.close();
    this.#isServing = false;
  }

  /** @returns null where the folder cannot be watched, such as with too many watchers: then turns are found by polling */
  #watch(): FSWatcher | null {
    try {
      const watcher = watch(this.#folder, { persistent: false }, (_event, name) => {
        // Places are renewed all the time. Their coming and going may wait for the next poll.
        if (name === null || name.startsWith(`${TURN}.`)) this.#wake();
      });
      return watcher.on("error", () => watcher.close());
    } catch {
      return null;
    }
  }

  async #pause(): Promise<void> {
    await this.#clock.sleep(POLL_MS, this.#waking.signal).catch(() => {});
    // Others may work even if the clock's waits take no time.
    await new Promise(setImmediate);
  }

  /** Gives turns to those that are due, and tells the others what they wait for. */
  async #serveOnce(): Promise<void> {
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        let turns = this.#tickets.listActive(TURN);
        const positions = this.#placesBeside(turns);
        const isDue = turns.length + this.#before(first, positions).length < this.#limits.concurrency;
        const others = isDue ? await this.#begin(first) : null;
        if (isDue && others === null) continue;
        turns = others ?? turns;
        await this.#keepPlace(first);
        if (this.#waiting[0] === first) return this.#tell(turns, positions);
      }
    } catch (error) {
      for (const waiter of [...this.#waiting]) this.#fail(waiter, error);
    }
  }

  /** The places of other processes. While it takes its turn, a request has two tickets: only the turn counts. */
  #placesBeside(turns: readonly Ticket[]): Ticket[] {
    const inTurn = new Set(turns.map(({ sortKey }) => sortKey));
    const others = this.#tickets.listActive(WAIT).filter(({ name }) => name !== this.#position?.ticket.name);
    return others
      .map((position) =>
        inTurn.has(position.sortKey) ? { ...position, count: position.count - 1 } : position,
      )
      .filter(({ count }) => count > 0);
  }

  /** The places of other processes before a waiter. */
  #before({ sortKey }: Waiter, positions: readonly Ticket[]): Ticket[] {
    const ownName = this.#position?.sortKey === sortKey ? this.#position.ticket.name : "";
    return positions.filter(
      (each) => each.sortKey < sortKey || (each.sortKey === sortKey && !(ownName < each.name && ownName)),
    );
  }

  /** Begins the turn of a waiter, or ends its wait with an error. @returns the turns of the others, if too many have one */
  async #begin(waiter: Waiter): Promise<Ticket[] | null> {
    const { forMs, concurrency } = this.#limits;
    try {
      const turn = await this.#tickets.take(TURN, forMs, { sortKey: waiter.sortKey, max: concurrency });
      if (Array.isArray(turn)) return turn;
      // It was given up while it took its turn.
      if (!this.#waiting.includes(waiter)) turn.release();
      else this.#remove(waiter).resolve({ release: async (keepMs) => this.#release(turn, keepMs) });
      if (this.#waiting.length === 0) this.#leavePlace();
    } catch (error) {
      this.#fail(waiter, error);
    }
    return null;
  }

  #release(turn: HeldTicket, keepMs?: number): void {
    turn.release(keepMs);
    this.#wake();
  }

  /** Announces the first waiter, and how many are behind it, to the other processes. */
  async #keepPlace({ sortKey }: Waiter): Promise<void> {
    const position = this.#position;
    const nowMs = this.#clock.monotonicMs();
    const count = this.#waiting.length;
    if (position?.sortKey === sortKey && position.count === count && nowMs < position.renewAtMs) return;
    const renewAtMs = nowMs + WAIT_MS / 3;
    try {
      if (position?.sortKey === sortKey && position.ticket.renew(WAIT_MS, count)) {
        this.#position = { ...position, count, renewAtMs };
        return;
      }
      const ticket = await this.#tickets.take(WAIT, WAIT_MS, {
        sortKey,
        count,
        max: Number.POSITIVE_INFINITY,
      });
      this.#leavePlace();
      this.#position = Array.isArray(ticket) ? null : { ticket, sortKey, count, renewAtMs };
    } catch (error) {
      // A process that had a place already loses it for as long as the disk refuses the ticket.
      if (position === null) throw error;
      this.#position = { ...position, renewAtMs };
    }
  }

  #leavePlace(): void {
    try {
      this.#position?.ticket.release();
    } catch {
      // It ends by itself.
    }
    this.#position = null;
  }

  #tell(turns: readonly Ticket[], positions: readonly Ticket[]): void {
    for (const [index, waiter] of [...this.#waiting].entries()) {
      const before = this.#before(waiter, positions);
      const [first] = [...turns, ...before];
      if (first === undefined || waiter.onWait === undefined) continue;
      const ahead = before.reduce((sum, { count }) => sum + count, turns.length + index);
      const holder = describeHolder(first.lease, this.#processes.self, this.#clock.now());
      if (waiter.lastWaiting?.ahead === ahead && waiter.lastWaiting.holder === holder) continue;
      waiter.lastWaiting = { ahead, holder };
      try {
        waiter.onWait(waiter.lastWaiting);
      } catch (error) {
        this.#fail(waiter, error);
      }
    }
  }

  #fail(waiter: Waiter, reason: unknown): void {
    this.#remove(waiter).reject(reason);
    this.#wake();
  }

  #remove(waiter: Waiter): Waiter {
    waiter.ignoreSignal();
    const index = this.#waiting.indexOf(waiter);
    if (index !== -1) this.#waiting.splice(index, 1);
    return waiter;
  }
}

/** Describes who has a turn that others wait for: "another imggen process, pid 4711". */
function describeHolder({ by, until }: Lease, self: ProcessIdentity, nowMs: number): string {
  const minutes = Math.max(1, Math.ceil((until - nowMs) / 60_000));
  // Whole minutes, so that a waiter is told of a change once a minute.
  const atMost = `for ${minutes === 1 ? "1 minute" : `${minutes} minutes`} at most`;
  if (by === null) return `a request that was given up, ${atMost}`;
  if (!isInSameScope(by, self)) return `a process on host ${by.host}, ${atMost}`;
  return isSameProcess(by, self) ? "another task of this process" : `another imggen process, pid ${by.pid}`;
}
