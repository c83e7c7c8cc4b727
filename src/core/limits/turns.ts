import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import { makeFolder } from "../../lib/durable.ts";
import type { Lease } from "../../lib/lease.ts";
import { isInSameScope, isSameProcess, type Processes, type ProcessIdentity } from "../../lib/processes.ts";
import { type HeldTicket, type Ticket, Tickets } from "../../lib/tickets.ts";
import type { Waiting } from "../../providers/provider.ts";

export type { Waiting } from "../../providers/provider.ts";

export interface Turn {
  /**
   * @param keepMs time for which the turn stays taken, because the provider might still work; default 0, at most a day
   * @throws the disk's error; the turn then ends when its lease expires or its process exits
   */
  release(keepMs?: number): Promise<void>;
}

export interface QueueLimits {
  /** Maximum number of turns at once, over all processes. */
  concurrency: number;
  /** Maximum duration of a turn, in milliseconds, even if its process is still running. At most a day. */
  leaseMs: number;
}

export interface QueueDeps {
  processes: Processes;
  clock: Pick<Clock, "now" | "sleep" | "monotonicMs">;
}

interface WaitOptions {
  signal: AbortSignal;
  /** Called whenever the reason for the wait changes. */
  onWait?: (waiting: Waiting) => void;
}

interface Waiter {
  sortKey: string;
  lastWaiting: Waiting | null;
  onWait: ((waiting: Waiting) => void) | undefined;
  resolve(turn: Turn): void;
  reject(reason: unknown): void;
  ignoreSignal(): void;
}

const TURN_TICKET = "turn";
const WAIT_TICKET = "wait";

/** A watcher reports turns that end, but dead processes and expired leases are found only by reading the folder. */
const POLL_MS = 200;

/** Time after which a process loses its position in the queue if it does not renew the position, in milliseconds. */
const WAIT_LEASE_MS = 6_000;

/**
 * A provider's queue for all processes. Requests wait in memory, and only the first of each process has a ticket file.
 */
export class Queue {
  readonly #folder: string;
  readonly #limits: QueueLimits;
  readonly #processes: Processes;
  readonly #clock: QueueDeps["clock"];
  readonly #tickets: Tickets;
  /** Sorted by `sortKey`, then by arrival. */
  readonly #waiting: Waiter[] = [];
  #position: { ticket: HeldTicket; sortKey: string; count: number; renewAtMs: number } | null = null;
  #isServing = false;
  #isSwept = false;
  #wakeController = new AbortController();

  constructor(folder: string, limits: QueueLimits, { processes, clock }: QueueDeps) {
    this.#folder = folder;
    this.#limits = limits;
    this.#processes = processes;
    this.#clock = clock;
    this.#tickets = new Tickets(folder, processes, clock);
  }

  /** Waits for a turn. @param sortKey sortable time for a file name @throws the signal's reason, or the disk's error */
  async take(sortKey: string, { signal, onWait }: WaitOptions): Promise<Turn> {
    signal.throwIfAborted();
    await makeFolder(this.#folder, 0o700);
    if (!this.#isSwept) this.#tickets.sweep();
    this.#isSwept = true;
    signal.throwIfAborted();
    return new Promise<Turn>((resolve, reject) => {
      const onAbort = () => this.#fail(waiter, signal.reason);
      const ignoreSignal = () => signal.removeEventListener("abort", onAbort);
      const waiter: Waiter = { sortKey, lastWaiting: null, onWait, resolve, reject, ignoreSignal };
      signal.addEventListener("abort", onAbort, { once: true });
      const at = this.#waiting.findIndex((other) => other.sortKey > sortKey);
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
      if (this.#isServing) this.#wake();
      else void this.#serve();
    });
  }

  #wake(): void {
    this.#wakeController.abort();
  }

  /** Gives turns to the waiters of this process until no waiter remains. */
  async #serve(): Promise<void> {
    this.#isServing = true;
    let watcher: FSWatcher | null | undefined;
    while (this.#waiting.length > 0) {
      if (this.#wakeController.signal.aborted) this.#wakeController = new AbortController();
      await this.#serveOnce();
      if (this.#waiting.length === 0) break;
      if (watcher === undefined) {
        watcher = this.#watch();
        // The folder is read again at once, because a turn might have ended before the watcher started.
        this.#wake();
      }
      await this.#pause();
    }
    this.#leaveQueue();
    watcher?.close();
    this.#isServing = false;
  }

  /** @returns null if the folder cannot be watched; turns that end are then found at the interval `POLL_MS` */
  #watch(): FSWatcher | null {
    try {
      const watcher = watch(this.#folder, { persistent: false }, (_event, name) => {
        // Changes of positions are ignored, because positions are renewed very often.
        if (name === null || name.startsWith(`${TURN_TICKET}.`)) this.#wake();
      });
      return watcher.on("error", () => watcher.close());
    } catch {
      return null;
    }
  }

  async #pause(): Promise<void> {
    await this.#clock.sleep(POLL_MS, this.#wakeController.signal).catch(() => {});
    // Other work must get its chance to run, even if the clock's sleep takes no time.
    await new Promise(setImmediate);
  }

  /** Gives turns to the waiters that are due, and reports their positions to all other waiters. */
  async #serveOnce(): Promise<void> {
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        let turns = this.#tickets.listActive(TURN_TICKET);
        const positions = this.#listOtherPositions(turns);
        const isDue =
          turns.length + this.#listPositionsAhead(first, positions).length < this.#limits.concurrency;
        const takenTurns = isDue ? await this.#beginTurn(first) : null;
        if (isDue && takenTurns === null) continue;
        turns = takenTurns ?? turns;
        await this.#announcePosition(first);
        if (this.#waiting[0] === first) return this.#reportWaits(turns, positions);
      }
    } catch (error) {
      for (const waiter of [...this.#waiting]) this.#fail(waiter, error);
    }
  }

  /** A request that is beginning its turn has two tickets, of which only the turn counts. */
  #listOtherPositions(turns: readonly Ticket[]): Ticket[] {
    const keysInTurn = new Set(turns.map(({ sortKey }) => sortKey));
    const others = this.#tickets
      .listActive(WAIT_TICKET)
      .filter(({ name }) => name !== this.#position?.ticket.name);
    return others
      .map((position) =>
        keysInTurn.has(position.sortKey) ? { ...position, count: position.count - 1 } : position,
      )
      .filter(({ count }) => count > 0);
  }

  #listPositionsAhead({ sortKey }: Waiter, positions: readonly Ticket[]): Ticket[] {
    const ownName = this.#position?.sortKey === sortKey ? this.#position.ticket.name : "";
    return positions.filter(
      (position) =>
        position.sortKey < sortKey || (position.sortKey === sortKey && !(ownName < position.name && ownName)),
    );
  }

  /** Begins a waiter's turn if one is free. @returns the active turns if all turns are taken, otherwise null */
  async #beginTurn(waiter: Waiter): Promise<Ticket[] | null> {
    const { leaseMs, concurrency } = this.#limits;
    try {
      const turn = await this.#tickets.take(TURN_TICKET, leaseMs, {
        sortKey: waiter.sortKey,
        max: concurrency,
      });
      if (Array.isArray(turn)) return turn;
      // The turn is released if the wait was aborted while the ticket was written.
      if (!this.#waiting.includes(waiter)) turn.release();
      else this.#remove(waiter).resolve({ release: async (keepMs) => this.#release(turn, keepMs) });
      if (this.#waiting.length === 0) this.#leaveQueue();
    } catch (error) {
      this.#fail(waiter, error);
    }
    return null;
  }

  #release(turn: HeldTicket, keepMs?: number): void {
    turn.release(keepMs);
    this.#wake();
  }

  /** Announces the first waiter and the number of waiters to other processes. */
  async #announcePosition({ sortKey }: Waiter): Promise<void> {
    const position = this.#position;
    const nowMs = this.#clock.monotonicMs();
    const count = this.#waiting.length;
    if (position?.sortKey === sortKey && position.count === count && nowMs < position.renewAtMs) return;
    const renewAtMs = nowMs + WAIT_LEASE_MS / 3;
    try {
      if (position?.sortKey === sortKey && position.ticket.renew(WAIT_LEASE_MS, count)) {
        this.#position = { ...position, count, renewAtMs };
        return;
      }
      const ticket = await this.#tickets.take(WAIT_TICKET, WAIT_LEASE_MS, {
        sortKey,
        count,
        max: Number.POSITIVE_INFINITY,
      });
      this.#leaveQueue();
      this.#position = Array.isArray(ticket) ? null : { ticket, sortKey, count, renewAtMs };
    } catch (error) {
      // If the process has a position, the error is ignored, because a lost position is better than failed requests.
      if (position === null) throw error;
      this.#position = { ...position, renewAtMs };
    }
  }

  #leaveQueue(): void {
    try {
      this.#position?.ticket.release();
    } catch {
      // A ticket that is not released expires soon.
    }
    this.#position = null;
  }

  #reportWaits(turns: readonly Ticket[], positions: readonly Ticket[]): void {
    for (const [index, waiter] of [...this.#waiting].entries()) {
      const positionsAhead = this.#listPositionsAhead(waiter, positions);
      const [next] = [...turns, ...positionsAhead];
      if (next === undefined || waiter.onWait === undefined) continue;
      const ahead = positionsAhead.reduce((sum, { count }) => sum + count, turns.length + index);
      const holder = describeHolder(next.lease, this.#processes.self, this.#clock.now());
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

/** Describes the holder of a turn, for example "another imggen process, pid 4711". */
function describeHolder({ by, until }: Lease, self: ProcessIdentity, nowMs: number): string {
  const minutes = Math.max(1, Math.ceil((until - nowMs) / 60_000));
  // The text contains whole minutes, because every change of the text is reported.
  const timeLimit = `for at most ${minutes === 1 ? "1 minute" : `${minutes} minutes`}`;
  if (by === null) return `an abandoned request, ${timeLimit}`;
  if (!isInSameScope(by, self)) return `a process on host ${by.host}, ${timeLimit}`;
  return isSameProcess(by, self) ? "another task of this process" : `another imggen process, pid ${by.pid}`;
}
