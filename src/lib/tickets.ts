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

export interface Ticket {
  /** File name: `<resource>.<sort key>.<mark>`. */
  name: string;
  sortKey: string;
  lease: Lease;
  count: number;
}

export interface HeldTicket {
  readonly name: string;
  /**
   * Extends the ticket to `durationMs` from now. Returns false if another process might have the resource.
   * @throws the disk's error; the ticket stays valid until its previous expiry
   */
  renew(durationMs: number, count?: number): boolean;
  /** Whether the ticket has never expired and its file still exists. @throws the disk's error */
  isStillHeld(): boolean;
  /**
   * Blocks the resource for `keepMs` more (at most a day, default 0), because work might still run on a server.
   * @throws the disk's error; the ticket then stays valid until its lease expires or this process ends
   */
  release(keepMs?: number): void;
}

export interface TakeOptions {
  sortKey?: string;
  max?: number;
  count?: number;
}

/** Name of a resource, which begins the file name. A leading dot hides the file. */
const RESOURCE_NAME = /^\.?[a-zA-Z0-9-]+$/;

const TICKET_NAME = /^(?<resource>\.?[a-zA-Z0-9-]+)\.(?<sortKey>.*)\.(?<mark>[0-9a-f]{8})$/;

const MAX_BYTES = 4096;

const LEFTOVER_MS = 600_000;

const MAX_ATTEMPTS = 5;
const RETRY_MS = 2;

/**
 * Locks for processes that share a folder. To take a ticket, a process creates a file with its lease, and then lists
 * the files of other processes. It gives up if `max` of them are valid, so at most `max` processes get a ticket. If
 * two processes find each other's files, the process whose file sorts last gives up, and the other process retries.
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
   * Returns a ticket, or the tickets of others if there are too many.
   * @throws the disk's error, without taking a ticket
   */
  async take(
    resource: string,
    durationMs: number,
    options: TakeOptions = {},
  ): Promise<HeldTicket | Ticket[]> {
    const { sortKey = "", max = 1, count = 1 } = options;
    if (!RESOURCE_NAME.test(resource) || sortKey.includes("/"))
      throw new Error(`${resource}.${sortKey} is not a valid ticket name`);
    await makeFolder(this.#folder, 0o700);
    const ownTicket = { name: `${resource}.${sortKey}.${randomDigits()}`, sortKey };
    const ticket = new TicketFile(this.#folder, ownTicket.name, this.#processes, this.#clock);
    try {
      ticket.announce(durationMs, count);
      for (let attempt = 1; ; attempt++) {
        const others = this.listActive(resource).filter(({ name }) => name !== ownTicket.name);
        const isAvailable = others.length < max;
        // If this process was suspended until its ticket expired, another process can have taken the resource.
        if (!ticket.isStillHeld()) break;
        if (isAvailable) return ticket;
        const isOutranked = others.filter((other) => compareTickets(other, ownTicket) < 0).length >= max;
        if (isOutranked || attempt === MAX_ATTEMPTS) {
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
    return this.take(resource, durationMs, options);
  }

  /** Lists all valid tickets in order, even tickets that might still be withdrawn. @throws the disk's error */
  listActive(resource: string): Ticket[] {
    const nowMs = this.#clock.now();
    // Lists the folder twice, because some file systems omit a file while it is renamed.
    const names = new Set([...this.#names(), ...this.#names()]);
    const tickets = [...names].flatMap((name) => {
      const groups = TICKET_NAME.exec(name)?.groups;
      if (groups?.resource !== resource) return [];
      const { lease, count } = this.#read(name);
      return isHeld(lease, this.#processes, nowMs)
        ? [{ name, sortKey: groups.sortKey ?? "", lease, count }]
        : [];
    });
    return tickets.sort(compareTickets);
  }

  /** Removes files of killed processes. Never throws. `prefix` is for a folder that contains other files too. */
  sweep(prefix = "", leftoverMs = LEFTOVER_MS): void {
    try {
      for (const name of this.#names()) this.#removeLeftover(name, prefix, leftoverMs);
    } catch {}
  }

  #removeLeftover(name: string, prefix: string, leftoverMs: number): void {
    const isTemporary = isTicket(temporaryTarget(name), prefix);
    if (!isTemporary && !isTicket(name, prefix)) return;
    const nowMs = this.#clock.now();
    const file = path.join(this.#folder, name);
    const { mtimeMs = nowMs } = lstatSync(file, { throwIfNoEntry: false }) ?? {};
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

  /** The lease is null if the file is missing, damaged or not a ticket. @throws the disk's error */
  #read(name: string): { lease: Lease | null; count: number } {
    try {
      const text = readRegular(path.join(this.#folder, name), MAX_BYTES).toString("utf8");
      const { count } = fieldsOf(jsonOrNull(text));
      const isCount = typeof count === "number" && Number.isSafeInteger(count) && count > 0;
      return { lease: parseLease(text), count: isCount ? count : 1 };
    } catch (error) {
      // Errors without a code mean that the file is too large or not a regular file.
      const code = errorCode(error);
      if (code === undefined || IGNORED_ERRORS.has(code)) return { lease: null, count: 1 };
      throw error;
    }
  }
}

const IGNORED_ERRORS = new Set([
  "ENOENT",
  "EACCES",
  "EPERM",
  "ELOOP",
  "EISDIR",
  "ENXIO",
  "ENODEV",
  "EOPNOTSUPP",
]);

function isTicket(name: string | undefined, prefix: string): boolean {
  return TICKET_NAME.exec(name ?? "")?.groups?.resource?.startsWith(prefix) ?? false;
}

/** Compares code units, so that all processes sort tickets equally, whatever their locale. */
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
  /** Expiry by the monotonic clock, because the wall clock can be set past the expiry and back. */
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
    const hasExpired = this.#clock.now() >= this.#untilMs || performance.now() >= this.#untilMonotonicMs;
    this.#isLost ||= hasExpired || !isPresent(this.#file);
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
      // Retries once, because all processes would otherwise wait until the ticket expires.
      removeIfPresent(this.#file);
    }
  }

  #write(lease: Lease, count: number): void {
    const content = JSON.stringify(count === 1 ? lease : { ...lease, count });
    for (let attempt = 1; ; attempt++) {
      try {
        replaceUnsynced(this.#file, content, 0o600);
        return;
      } catch (error) {
        // Retries if another process has removed the temporary file as a leftover.
        if (errorCode(error) !== "ENOENT" || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }
}
