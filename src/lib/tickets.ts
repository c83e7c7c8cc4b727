import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { isPresent, makeFolder, removeIfPossible, removeIfPresent } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { fieldsOf, jsonOrNull } from "./json.ts";
import { isHeld, type Lease, newLease, parseLease } from "./lease.ts";
import type { Processes } from "./processes.ts";
import { readRegular } from "./read-file.ts";
import { randomDigits, replaceUnsynced, temporaryTarget } from "./write-whole.ts";

/** A valid ticket of any process. */
export interface Ticket {
  /** File name: `<what>.<sort key>.<mark>`. */
  name: string;
  sortKey: string;
  lease: Lease;
  /** Number of requests that wait with it; 1 if not recorded. */
  count: number;
}

export interface HeldTicket {
  readonly name: string;
  /**
   * Extends the ticket to this time from now.
   * @returns false if it was lost, and nothing is written: another process may have the resource
   * @throws the disk's error; the ticket is held until its earlier end
   */
  renew(durationMs: number, count?: number): boolean;
  /**
   * Whether it was held without interruption: never expired, and its file exists.
   * @throws the disk's error
   */
  isStillHeld(): boolean;
  /**
   * @param keepMs how long no process may have it, because the other side may still be working: at most a day;
   * default 0
   * @throws the disk's error; then it ends with its lease or its process
   */
  release(keepMs?: number): void;
}

export interface TakeOptions {
  /** Of several simultaneous requests, the lowest key gets the ticket. Part of a file name. */
  sortKey?: string;
  /** Maximum number of holders. Default: 1. */
  max?: number;
  count?: number;
}

/** The resource, part of a file name. A leading dot hides the file. */
const WHAT = /^\.?[a-zA-Z0-9-]+$/;

const NAME = /^(?<what>\.?[a-zA-Z0-9-]+)\.(?<sortKey>.*)\.(?<mark>[0-9a-f]{8})$/;

const MAX_BYTES = 4096;

/** Age at which a file counts as left by a dead process, or damaged. Milliseconds. */
const LEFTOVER_MS = 600_000;

const MAX_ATTEMPTS = 5;
const RETRY_MS = 2;

/**
 * Locks between all processes that share a folder: each holder writes its own file with a lease. To take one, a
 * process first announces itself with a file and then lists the others; if too many of them are valid, it withdraws.
 * So of two simultaneous processes at least the later one sees the other, and never more than `max` continue. If both
 * see each other, the one that sorts first retries while the other withdraws. No ticket is taken from a holder: it
 * ends with its lease or its process.
 */
export class Tickets {
  readonly #folder: string;
  readonly #processes: Processes;
  readonly #clock: Pick<Clock, "now">;

  constructor(folder: string, processes: Processes, clock: Pick<Clock, "now">) {
    this.#folder = folder;
    this.#processes = processes;
    this.#clock = clock;
  }

  /**
   * Takes a ticket for a time, in milliseconds.
   * @param what letters, digits and hyphens, after a dot for a hidden file
   * @returns the valid tickets of others, sorted, if there are too many; the list may be empty by now
   * @throws the disk's error; then nothing is taken
   */
  async take(what: string, durationMs: number, options: TakeOptions = {}): Promise<HeldTicket | Ticket[]> {
    const { sortKey = "", max = 1, count = 1 } = options;
    if (!WHAT.test(what) || sortKey.includes("/"))
      throw new Error(`no ticket can be named ${what}.${sortKey}`);
    await makeFolder(this.#folder, 0o700);
    const ownTicket = { name: `${what}.${sortKey}.${randomDigits()}`, sortKey };
    const ticket = new TicketFile(this.#folder, ownTicket.name, this.#processes, this.#clock);
    try {
      ticket.announce(durationMs, count);
      for (let attempt = 1; ; attempt++) {
        const others = this.active(what).filter(({ name }) => name !== ownTicket.name);
        const isFree = others.length < max;
        // After a suspension others may no longer see the announcement.
        if (!ticket.isStillHeld()) break;
        if (isFree) return ticket;
        const areBefore = others.filter((other) => compareTickets(other, ownTicket) < 0).length >= max;
        if (areBefore || attempt === MAX_ATTEMPTS) {
          ticket.withdraw();
          return others;
        }
        await setTimeout(RETRY_MS);
      }
    } catch (error) {
      ticket.withdraw();
      throw error;
    }
    ticket.withdraw();
    return this.take(what, durationMs, options);
  }

  /**
   * All valid tickets, sorted, including those only announced.
   * @throws the disk's error
   */
  active(what: string): Ticket[] {
    const nowMs = this.#clock.now();
    // Listed twice: some file systems omit a file while it is renamed.
    const names = new Set([...this.#names(), ...this.#names()]);
    const tickets = [...names].flatMap((name) => {
      const groups = NAME.exec(name)?.groups;
      if (groups?.what !== what) return [];
      const { lease, count } = this.#read(name);
      return isHeld(lease, this.#processes, nowMs)
        ? [{ name, sortKey: groups.sortKey ?? "", lease, count }]
        : [];
    });
    return tickets.sort(compareTickets);
  }

  /**
   * Removes files of killed processes. Never throws: a leftover does no harm.
   * @param prefix of the resources, in a folder with other files
   * @param leftoverMs minimum age; default: ten minutes
   */
  sweep(prefix = "", leftoverMs = LEFTOVER_MS): void {
    try {
      for (const name of this.#names()) this.#removeLeftover(name, prefix, leftoverMs);
    } catch {
      // It stays.
    }
  }

  #removeLeftover(name: string, prefix: string, leftoverMs: number): void {
    const isTemporary = isTicket(temporaryTarget(name), prefix);
    if (!isTemporary && !isTicket(name, prefix)) return;
    const nowMs = this.#clock.now();
    const file = path.join(this.#folder, name);
    const { mtimeMs = nowMs } = lstatSync(file, { throwIfNoEntry: false }) ?? {};
    // The file may be from before the clock was set back.
    if (Math.abs(nowMs - mtimeMs) < leftoverMs) return;
    if (isTemporary || !isHeld(this.#read(name).lease, this.#processes, nowMs)) removeIfPossible(file);
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  /**
   * No lease if the file is missing, damaged or not a ticket.
   * @throws the disk's error
   */
  #read(name: string): { lease: Lease | null; count: number } {
    try {
      const text = readRegular(path.join(this.#folder, name), MAX_BYTES).toString("utf8");
      const { count } = fieldsOf(jsonOrNull(text));
      const isCount = typeof count === "number" && Number.isSafeInteger(count) && count > 0;
      return { lease: parseLease(text), count: isCount ? count : 1 };
    } catch (error) {
      // No code: not a regular file, or too large.
      const code = errorCode(error);
      if (code === undefined || NOT_OURS.has(code)) return { lease: null, count: 1 };
      throw error;
    }
  }
}

/** Errors of files that are gone, or of another user or kind. */
const NOT_OURS = new Set(["ENOENT", "EACCES", "EPERM", "ELOOP", "EISDIR", "ENXIO", "ENODEV", "EOPNOTSUPP"]);

function isTicket(name: string | undefined, prefix: string): boolean {
  return NAME.exec(name ?? "")?.groups?.what?.startsWith(prefix) ?? false;
}

/** Compares by code units, so that all processes agree. */
function compareTickets(a: Pick<Ticket, "sortKey" | "name">, b: Pick<Ticket, "sortKey" | "name">): number {
  if (a.sortKey !== b.sortKey) return a.sortKey < b.sortKey ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

class TicketFile implements HeldTicket {
  readonly name: string;
  readonly #file: string;
  readonly #processes: Processes;
  readonly #clock: Pick<Clock, "now">;
  #untilMs = 0;
  /** Expiry by the monotonic clock: the wall clock may be set past the end and back. */
  #untilMonotonicMs = 0;
  #isLost = false;
  #isReleased = false;

  constructor(folder: string, name: string, processes: Processes, clock: Pick<Clock, "now">) {
    this.name = name;
    this.#file = path.join(folder, name);
    this.#processes = processes;
    this.#clock = clock;
  }

  announce(durationMs: number, count: number): void {
    const monotonicMs = performance.now();
    const lease = newLease(this.#processes.self, durationMs, this.#clock.now());
    this.#write(lease, count);
    this.#untilMs = lease.until;
    this.#untilMonotonicMs = monotonicMs + (lease.until - lease.from);
  }

  withdraw(): void {
    this.#isLost = true;
    removeIfPossible(this.#file);
  }

  renew(durationMs: number, count = 1): boolean {
    if (!this.isStillHeld()) return false;
    this.announce(durationMs, count);
    return true;
  }

  isStillHeld(): boolean {
    const isOver = this.#clock.now() >= this.#untilMs || performance.now() >= this.#untilMonotonicMs;
    this.#isLost ||= isOver || !isPresent(this.#file);
    return !this.#isLost;
  }

  release(keepMs = 0): void {
    if (this.#isReleased) return;
    this.#isLost = true;
    if (keepMs > 0) this.#write(newLease(null, keepMs, this.#clock.now()), 1);
    else this.#remove();
    this.#isReleased = true;
  }

  #remove(): void {
    try {
      removeIfPresent(this.#file);
    } catch {
      // Retried once: all processes, including this one, would wait for its expiry.
      removeIfPresent(this.#file);
    }
  }

  /** Atomic, so that no reader sees half of it. */
  #write(lease: Lease, count: number): void {
    const content = JSON.stringify(count === 1 ? lease : { ...lease, count });
    for (let attempt = 1; ; attempt++) {
      try {
        replaceUnsynced(this.#file, content, 0o600);
        return;
      } catch (error) {
        // Another process may have swept the temporary file as a leftover.
        if (errorCode(error) !== "ENOENT" || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }
}
