import type { Clock } from "../../lib/clock.ts";
import type { Waiting } from "../../providers/provider.ts";
import { describeHolder } from "./describe-holder.ts";
import { announceChange, folderKey, onTurnsChanged } from "./folder-watch.ts";
import { comparePlaces, newPlace, type Place } from "./place.ts";
import type { LineDeps, LineLimits, Turn, WaitOptions } from "./turn.ts";
import { type Ticket, Tickets } from "./turn-files.ts";

/** Found by its watcher is a turn that ends; what else changes (a process dies, a lease runs out) is found by polling. */
const POLL_MS = 200;

/** A third of the time after which a waiter loses its place. */
const RENEW_MS = 2_000;

interface Waiter {
  place: Place;
  limits: LineLimits;
  /** By the monotonic clock. */
  renewAtMs: number;
  /** What `onWait` was told last. */
  told: Waiting | null;
  onWait: ((waiting: Waiting) => void) | undefined;
  resolve(turn: Turn): void;
  reject(reason: unknown): void;
  ignoreSignal(): void;
}

const shared = new WeakMap<LineDeps["processes"], Map<string, Waiters>>();

/** The waiters of this process in a folder: one watcher and one poll serve all of them. @throws ENOENT */
export function waitersIn(folder: string, deps: LineDeps): Waiters {
  const byFolder = shared.get(deps.processes) ?? new Map<string, Waiters>();
  shared.set(deps.processes, byFolder);
  const key = folderKey(folder);
  const waiters = byFolder.get(key) ?? new Waiters(folder, key, deps, () => byFolder.delete(key));
  byFolder.set(key, waiters);
  return waiters;
}

/** Those of this process that wait for a turn in a folder. The protocol is explained at `Line`. */
export class Waiters {
  readonly #folder: string;
  readonly #key: string;
  readonly #processes: LineDeps["processes"];
  readonly #clock: Pick<Clock, "now" | "sleep" | "monotonicMs">;
  readonly #tickets: Tickets;
  readonly #onEmpty: () => void;
  /** Sorted by their places. */
  #waiting: Waiter[] = [];
  #isServing = false;
  #waking = new AbortController();
  #stopWatching: (() => void) | null = null;

  constructor(folder: string, key: string, { processes, clock }: LineDeps, onEmpty: () => void) {
    this.#folder = folder;
    this.#key = key;
    this.#processes = processes;
    this.#clock = clock;
    this.#tickets = new Tickets(folder, processes, clock);
    this.#onEmpty = onEmpty;
  }

  /** @throws the signal's reason; the disk's error */
  take(order: string, limits: LineLimits, { signal, onWait }: WaitOptions): Promise<Turn> {
    return new Promise<Turn>((resolve, reject) => {
      const onAbort = () => this.#fail(waiter, signal.reason);
      const waiter: Waiter = {
        place: newPlace(order),
        limits,
        renewAtMs: this.#clock.monotonicMs() + RENEW_MS,
        told: null,
        onWait,
        resolve,
        reject,
        ignoreSignal: () => signal.removeEventListener("abort", onAbort),
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#join(waiter);
    });
  }

  #join(waiter: Waiter): void {
    try {
      this.#tickets.wait(waiter.place);
      this.#waiting.push(waiter);
      this.#waiting.sort((a, b) => comparePlaces(a.place, b.place));
    } catch (error) {
      this.#fail(waiter, error);
    }
    if (this.#isServing) this.#wake();
    else void this.#serve();
  }

  readonly #wake = (): void => this.#waking.abort();

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#waiting.length > 0) {
      if (this.#waking.signal.aborted) this.#waking = new AbortController();
      this.#renew();
      this.#serveOnce();
      if (this.#waiting.length === 0) break;
      if (this.#stopWatching === null) {
        this.#stopWatching = onTurnsChanged(this.#folder, this.#key, this.#wake);
        // A turn may have ended before the folder was watched.
        this.#wake();
      }
      await this.#pause();
    }
    this.#stopWatching?.();
    this.#stopWatching = null;
    this.#isServing = false;
    this.#onEmpty();
  }

  async #pause(): Promise<void> {
    await this.#clock.sleep(POLL_MS, this.#waking.signal).catch(() => {});
    // Others may work even if the clock's waits take no time.
    await new Promise(setImmediate);
  }

  #renew(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const waiter of this.#waiting) {
      if (waiter.renewAtMs > nowMs) continue;
      waiter.renewAtMs = nowMs + RENEW_MS;
      try {
        this.#tickets.wait(waiter.place);
      } catch {
        // It loses its place for as long as the disk refuses the ticket.
      }
    }
  }

  /** Gives turns to those that are due, and tells the others what they wait for. */
  #serveOnce(): void {
    try {
      const tickets = this.#tickets.all(this.#waiting.map(({ place }) => place));
      const turns = tickets.filter(({ isTurn }) => isTurn);
      const waiting = tickets.filter(({ isTurn }) => !isTurn);
      const first = turns[0] ?? waiting[0];
      const indexes = new Map(waiting.map(({ mark }, index) => [mark, index]));
      for (const waiter of [...this.#waiting]) {
        const ahead = turns.length + (indexes.get(waiter.place.mark) ?? 0);
        this.#serveWaiter(waiter, ahead, first);
      }
    } catch (error) {
      for (const waiter of [...this.#waiting]) this.#fail(waiter, error);
    }
  }

  #serveWaiter(waiter: Waiter, ahead: number, first: Ticket | undefined): void {
    try {
      if (ahead >= waiter.limits.concurrency) this.#tell(waiter, ahead, first);
      else if (this.#takesTurn(waiter)) this.#begin(waiter);
    } catch (error) {
      this.#fail(waiter, error);
    }
  }

  /** Takes a turn unless too many others have one by now. */
  #takesTurn({ place, limits: { concurrency, forMs } }: Waiter): boolean {
    this.#tickets.hold(place, forMs);
    let isTaken = false;
    try {
      const turns = this.#tickets.turns();
      // It is not there where this process was stopped for longer than the turn lasts.
      isTaken = turns.length <= concurrency && turns.some(({ mark }) => mark === place.mark);
    } finally {
      if (!isTaken) this.#tickets.end(place);
    }
    return isTaken;
  }

  #begin(waiter: Waiter): void {
    const { place } = waiter;
    this.#remove(waiter);
    let isReleased = false;
    waiter.resolve({
      release: async (keepMs = 0) => {
        if (isReleased) return;
        if (keepMs > 0) this.#tickets.keep(place, keepMs);
        else this.#tickets.end(place);
        isReleased = true;
        announceChange(this.#key);
      },
    });
  }

  #tell(waiter: Waiter, ahead: number, first: Ticket | undefined): void {
    if (first === undefined || waiter.onWait === undefined) return;
    const holder = describeHolder(first.lease, this.#processes.self, this.#clock.now());
    if (waiter.told?.ahead === ahead && waiter.told.holder === holder) return;
    waiter.told = { ahead, holder };
    waiter.onWait(waiter.told);
  }

  #fail(waiter: Waiter, reason: unknown): void {
    this.#remove(waiter);
    waiter.reject(reason);
    this.#wake();
  }

  #remove(waiter: Waiter): void {
    waiter.ignoreSignal();
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
    this.#tickets.leave(waiter.place);
  }
}
