import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { isOwnerHeld, leaseEnd, type OwnerLease, ownerLeaseIn } from "../../lib/claim-files.ts";
import { type Clock, isoTime } from "../../lib/clock.ts";
import { removeIfPossible, removeIfPresent } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { isInSameScope, type Processes, type ProcessIdentity } from "../../lib/processes.ts";
import { readRegular } from "../../lib/read-file.ts";
import { draftedFile, removeOldDrafts, replaceUnsynced } from "../../lib/write-whole.ts";
import { comparePlaces, type NamedTicket, type Place, ticketIn, turnName, waitingName } from "./place.ts";

/** A ticket that others must respect. */
export interface Ticket extends NamedTicket {
  readonly lease: OwnerLease;
}

/** How long a waiter keeps its place without renewing its ticket. */
const WAITING_MS = 6_000;

/** A stopped process takes its place again when it continues; a ticket that ended this long ago is left over. */
const LEFT_OVER_MS = 60_000;

/** A damaged ticket of this age is not one that is being written. */
const DAMAGED_MS = 600_000;

const MOST_BYTES = 4096;

/** The tickets in a folder, as files. */
export class Tickets {
  readonly #folder: string;
  readonly #processes: Processes;
  readonly #clock: Pick<Clock, "now">;
  /** Leases of waiters of other processes by their files' names, so that each is read again only once it has run out. */
  #leases = new Map<string, OwnerLease>();

  constructor(folder: string, processes: Processes, clock: Pick<Clock, "now">) {
    this.#folder = folder;
    this.#processes = processes;
    this.#clock = clock;
  }

  /** Writes the ticket of a waiter, or renews it. @throws the disk's error */
  wait(place: Place): void {
    this.#write(waitingName(place), this.#processes.self, WAITING_MS);
  }

  /** Removes the ticket of a waiter. One that stays runs out. */
  leave(place: Place): void {
    removeIfPossible(this.#pathOf(waitingName(place)));
  }

  /** Writes the ticket of a turn. @throws the disk's error */
  hold(place: Place, forMs: number): void {
    this.#write(turnName(place), this.#processes.self, forMs);
  }

  /** Removes the ticket of a turn. @throws the disk's error */
  end(place: Place): void {
    const file = this.#pathOf(turnName(place));
    try {
      removeIfPresent(file);
    } catch {
      // All others would wait until its time is up, this very process too.
      removeIfPresent(file);
    }
  }

  /** Puts a ticket that no process has in place of a turn's. @throws the disk's error */
  keep(place: Place, keepMs: number): void {
    this.#write(turnName(place), { by: null }, keepMs);
  }

  /** The turns that others must respect, in their order. @throws the disk's error */
  turns(): Ticket[] {
    const turns = this.#places().filter(({ isTurn }) => isTurn);
    return this.#living(turns).sort(comparePlaces);
  }

  /**
   * All tickets that others must respect, in their order; removes what is left over of others.
   * @param waiters the places of waiters of this process, whose files are not read
   * @throws the disk's error
   */
  all(waiters: readonly Place[]): Ticket[] {
    const { self } = this.#processes;
    const ownMarks = new Set(waiters.map(({ mark }) => mark));
    const places = this.#places();
    const turns = new Set(places.filter(({ isTurn }) => isTurn).map(({ mark }) => mark));
    // While it takes its turn, a place has two tickets.
    const others = places.filter(({ isTurn, mark }) => isTurn || !(ownMarks.has(mark) || turns.has(mark)));
    const waiting = waiters.map((place) => ({ ...place, isTurn: false, lease: self }));
    return [...this.#living(others), ...waiting].sort(comparePlaces);
  }

  /** Removes drafts of killed processes. */
  async removeOldDrafts(): Promise<void> {
    const isDraft = (name: string) => ticketIn(draftedFile(name) ?? "") !== null;
    await removeOldDrafts(this.#folder, isDraft, this.#clock.now());
  }

  /** The places in the folder; files with other names are not ours. */
  #places(): NamedTicket[] {
    return readdirSync(this.#folder).flatMap((name) => {
      const ticket = ticketIn(name);
      return ticket === null ? [] : [ticket];
    });
  }

  #living(places: readonly NamedTicket[]): Ticket[] {
    const nowMs = this.#clock.now();
    const processes = askedOnce(this.#processes);
    const leases = new Map<string, OwnerLease>();
    const living = places.flatMap((place) => {
      const name = place.isTurn ? turnName(place) : waitingName(place);
      const before = this.#leases.get(name) ?? null;
      const lease = isOwnerHeld(before, processes, nowMs) ? before : this.#read(name);
      if (lease === "gone") return [];
      if (lease === null || !isOwnerHeld(lease, processes, nowMs)) {
        if (this.#isLeftOver(name, lease, processes, nowMs)) removeIfPossible(this.#pathOf(name));
        return [];
      }
      // The ticket of a turn may become one that no process has.
      if (!place.isTurn) leases.set(name, lease);
      return [{ ...place, lease }];
    });
    if (places.some(({ isTurn }) => !isTurn)) this.#leases = leases;
    return living;
  }

  /** @returns null for a damaged ticket. @throws the disk's error */
  #read(name: string): OwnerLease | "gone" | null {
    try {
      return ownerLeaseIn(readRegular(this.#pathOf(name), MOST_BYTES).toString("utf8"));
    } catch (error) {
      const code = errorCode(error);
      if (code === "ENOENT") return "gone";
      // Without a code it is no regular file, or too large.
      if (code === undefined) return null;
      throw error;
    }
  }

  #isLeftOver(name: string, lease: OwnerLease | null, processes: Processes, nowMs: number): boolean {
    const endMs = Date.parse(lease?.until ?? "");
    if (lease === null || Number.isNaN(endMs)) {
      const written = statSync(this.#pathOf(name), { throwIfNoEntry: false });
      return written !== undefined && nowMs - written.mtimeMs > DAMAGED_MS;
    }
    if ("by" in lease) return endMs <= nowMs;
    const isDead = isInSameScope(lease, processes.self) && !processes.isAlive(lease);
    return isDead || nowMs - endMs > LEFT_OVER_MS;
  }

  #write(name: string, by: ProcessIdentity | { by: null }, forMs: number): void {
    const nowMs = this.#clock.now();
    const lease: OwnerLease = { ...by, at: isoTime(nowMs), until: leaseEnd(forMs, nowMs) };
    replaceUnsynced(this.#pathOf(name), JSON.stringify(lease), 0o600);
  }

  #pathOf(name: string): string {
    return path.join(this.#folder, name);
  }
}

/** Asks only once whether each process is alive: one may have many tickets. */
function askedOnce({ self, isAlive }: Processes): Processes {
  const answers = new Map<string, boolean | null>();
  return {
    self,
    isAlive(other) {
      const key = JSON.stringify(other);
      const answer = answers.get(key) ?? isAlive(other);
      answers.set(key, answer);
      return answer;
    },
  };
}
