import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { isPresent, makeFolder, removeIfPossible, removeIfPresent } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { fieldsOf, jsonOrNull } from "./json.ts";
import { isHeld, type Lease, leaseIn, newLease } from "./lease.ts";
import type { Processes } from "./processes.ts";
import { readRegular } from "./read-file.ts";
import { draftedFile, randomDigits, replaceUnsynced } from "./write-whole.ts";

/** A ticket that others must respect. */
export interface Ticket {
  /** Its file's name: `<what>.<order>.<mark>`. */
  name: string;
  order: string;
  lease: Lease;
  /** How many requests wait with it; 1 if it does not say. */
  count: number;
}

/** A ticket of this process. */
export interface Held {
  readonly name: string;
  /**
   * Holds it for this time from now, in milliseconds.
   * @returns false if it was lost, and nothing is written: another process may have what it was for
   * @throws the disk's error; the ticket is held until its earlier end
   */
  renew(forMs: number, count?: number): boolean;
  /** Whether it was held all the time: its time was never over, and its file is there. @throws the disk's error */
  isKept(): boolean;
  /**
   * Gives it back.
   * @param keepMs for how long nobody may have it, because the other side may still be at work: at most a day; default 0
   * @throws the disk's error; then it ends with its time, or its process
   */
  release(keepMs?: number): void;
}

export interface TakeOptions {
  /** Of several that come at once, the first in this order has the ticket. A part of a file's name. */
  order?: string;
  /** How many may hold one at once. Default: 1. */
  max?: number;
  count?: number;
}

/** What a ticket is for: a part of a file's name. With a dot before it, the file is hidden. */
const WHAT = /^\.?[a-zA-Z0-9-]+$/;

const NAME = /^(?<what>\.?[a-zA-Z0-9-]+)\.(?<order>.*)\.(?<mark>[0-9a-f]{8})$/;

const MAX_BYTES = 4096;

/** A file that nobody has written for so long is a dead process's, or damaged. Milliseconds. */
const LEFTOVER_MS = 600_000;

const MAX_LOOKS = 5;
const LOOK_AGAIN_MS = 2;

/**
 * Who holds what, over all processes that share a folder: each holder has a file there, which it alone writes, and whose
 * content is a lease. Whoever wants something announces itself with a file, and lists those of the others after that; if
 * too many of them count, it withdraws. So of two that come at once the later one sees the other, and never more than
 * `max` go on. If both see each other, the one that sorts first looks again while the other withdraws. Nothing is taken
 * from a holder: a ticket ends with its time, or with its process.
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
   * @returns the tickets of the others, in their order, if too many have one. The list may be empty by now
   * @throws the disk's error; then nothing is taken
   */
  async take(what: string, forMs: number, options: TakeOptions = {}): Promise<Held | Ticket[]> {
    const { order = "", max = 1, count = 1 } = options;
    if (!WHAT.test(what) || order.includes("/")) throw new Error(`no ticket can be named ${what}.${order}`);
    await makeFolder(this.#folder, 0o700);
    const own = { name: `${what}.${order}.${randomDigits()}`, order };
    const held = new HeldTicket(this.#folder, own.name, this.#processes, this.#clock);
    try {
      held.announce(forMs, count);
      for (let looks = 1; ; looks++) {
        const others = this.held(what).filter(({ name }) => name !== own.name);
        const isFree = others.length < max;
        // A process that was stopped for so long has announced nothing that others still see.
        if (!held.isKept()) break;
        if (isFree) return held;
        const areBefore = others.filter((other) => inOrder(other, own) < 0).length >= max;
        if (areBefore || looks === MAX_LOOKS) {
          held.withdraw();
          return others;
        }
        await setTimeout(LOOK_AGAIN_MS);
      }
    } catch (error) {
      held.withdraw();
      throw error;
    }
    held.withdraw();
    return this.take(what, forMs, options);
  }

  /** The tickets that others must respect, in their order; those that are only announced too. @throws the disk's error */
  held(what: string): Ticket[] {
    const nowMs = this.#clock.now();
    // Listed twice: some file systems hide a file from a listing while it is renewed.
    const names = new Set([...this.#names(), ...this.#names()]);
    const tickets = [...names].flatMap((name) => {
      const groups = NAME.exec(name)?.groups;
      if (groups?.what !== what) return [];
      const { lease, count } = this.#read(name);
      return isHeld(lease, this.#processes, nowMs) ? [{ name, order: groups.order ?? "", lease, count }] : [];
    });
    return tickets.sort(inOrder);
  }

  /**
   * Removes what killed processes have left. Never throws: it is in nobody's way.
   * @param prefix of what the tickets are for: in a folder with files of others
   * @param leftoverMs how long nobody has written it; default: ten minutes
   */
  sweep(prefix = "", leftoverMs = LEFTOVER_MS): void {
    try {
      for (const name of this.#names()) this.#removeLeftover(name, prefix, leftoverMs);
    } catch {
      // It stays.
    }
  }

  #removeLeftover(name: string, prefix: string, leftoverMs: number): void {
    const isDraft = isTicket(draftedFile(name), prefix);
    if (!isDraft && !isTicket(name, prefix)) return;
    const nowMs = this.#clock.now();
    const file = path.join(this.#folder, name);
    const { mtimeMs = nowMs } = lstatSync(file, { throwIfNoEntry: false }) ?? {};
    // The time of the file may be one that a clock had before it was set back.
    if (Math.abs(nowMs - mtimeMs) < leftoverMs) return;
    if (isDraft || !isHeld(this.#read(name).lease, this.#processes, nowMs)) removeIfPossible(file);
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  /** What a ticket's file records; no lease if it is gone, damaged or not a file of ours. @throws the disk's error */
  #read(name: string): { lease: Lease | null; count: number } {
    try {
      const text = readRegular(path.join(this.#folder, name), MAX_BYTES).toString("utf8");
      const { count } = fieldsOf(jsonOrNull(text));
      const isCount = typeof count === "number" && Number.isSafeInteger(count) && count > 0;
      return { lease: leaseIn(text), count: isCount ? count : 1 };
    } catch (error) {
      // Without a code it is no regular file, or too large.
      const code = errorCode(error);
      if (code === undefined || NOT_OURS.has(code)) return { lease: null, count: 1 };
      throw error;
    }
  }
}

/** Errors of files that are gone, or that no process of this user has written. */
const NOT_OURS = new Set(["ENOENT", "EACCES", "EPERM", "ELOOP", "EISDIR", "ENXIO", "ENODEV", "EOPNOTSUPP"]);

function isTicket(name: string | undefined, prefix: string): boolean {
  return NAME.exec(name ?? "")?.groups?.what?.startsWith(prefix) ?? false;
}

/** Compares by code units, so that all processes agree. */
function inOrder(a: Pick<Ticket, "order" | "name">, b: Pick<Ticket, "order" | "name">): number {
  if (a.order !== b.order) return a.order < b.order ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

class HeldTicket implements Held {
  readonly name: string;
  readonly #file: string;
  readonly #processes: Processes;
  readonly #clock: Pick<Clock, "now">;
  #untilMs = 0;
  /** The end by a clock that is never set: the wall clock may be set ahead, past the end, and back. */
  #untilMonotonicMs = 0;
  #isLost = false;
  #isReleased = false;

  constructor(folder: string, name: string, processes: Processes, clock: Pick<Clock, "now">) {
    this.name = name;
    this.#file = path.join(folder, name);
    this.#processes = processes;
    this.#clock = clock;
  }

  announce(forMs: number, count: number): void {
    const monotonicMs = performance.now();
    const lease = newLease(this.#processes.self, forMs, this.#clock.now());
    this.#write(lease, count);
    this.#untilMs = lease.until;
    this.#untilMonotonicMs = monotonicMs + (lease.until - lease.from);
  }

  withdraw(): void {
    this.#isLost = true;
    removeIfPossible(this.#file);
  }

  renew(forMs: number, count = 1): boolean {
    if (!this.isKept()) return false;
    this.announce(forMs, count);
    return true;
  }

  isKept(): boolean {
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
      // All others would wait until its time is up, this very process too.
      removeIfPresent(this.#file);
    }
  }

  /** In one step, so that no reader sees half of it. */
  #write(lease: Lease, count: number): void {
    const content = JSON.stringify(count === 1 ? lease : { ...lease, count });
    for (let tries = 1; ; tries++) {
      try {
        replaceUnsynced(this.#file, content, 0o600);
        return;
      } catch (error) {
        // Another process may have swept its draft as a leftover.
        if (errorCode(error) !== "ENOENT" || tries === MAX_LOOKS) throw error;
      }
    }
  }
}
