import { randomBytes } from "node:crypto";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { HeldTicket, Tickets } from "../lib/tickets.ts";

/** How long a process counts as alive without renewing its ticket, in milliseconds: it may be stopped or suspended. */
export const HOLDER_MS = 60_000;

/**
 * The mark under which a process holds tasks, and the ticket that says that it is alive: one for all of its tasks, so that
 * neither waiting nor polling writes to their files. It is announced while a task is held.
 */
export class Holder {
  readonly mark = randomBytes(8).toString("hex");
  readonly #tickets: Tickets;
  readonly #held = new Set<string>();
  #ticket: HeldTicket | null = null;
  #announcing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(tickets: Tickets) {
    this.#tickets = tickets;
  }

  /** Announces a task as held by this process. @throws the disk's error */
  async hold(id: string): Promise<void> {
    this.#held.add(id);
    if (this.#ticket !== null) return;
    this.#announcing ??= this.#announce().finally(() => {
      this.#announcing = null;
    });
    try {
      await this.#announcing;
    } catch (error) {
      this.#held.delete(id);
      throw error;
    }
  }

  /** Whether this process holds a task. */
  has(id: string): boolean {
    return this.#held.has(id);
  }

  release(id: string): void {
    this.#held.delete(id);
    const ticket = this.#ticket;
    if (this.#held.size > 0 || ticket === null) return;
    clearInterval(this.#timer);
    this.#ticket = null;
    ticket.release();
  }

  /** Whether the process with this mark holds a task, as far as can be known. @throws the disk's error */
  isHeld(id: string, mark: string | null): boolean {
    if (mark === null) return false;
    return mark === this.mark ? this.has(id) : this.#tickets.active(nameOf(mark)).length > 0;
  }

  /** The process with this mark; null if none is known to be alive. @throws the disk's error */
  processOf(mark: string | null): ProcessIdentity | null {
    return mark === null ? null : (this.#tickets.active(nameOf(mark))[0]?.lease.by ?? null);
  }

  /** Removes tickets of dead processes. */
  sweep(): void {
    this.#tickets.sweep();
  }

  async #announce(): Promise<void> {
    this.#ticket = await this.#taken();
    this.#timer = setInterval(() => void this.#renew(), HOLDER_MS / 3).unref();
  }

  async #taken(): Promise<HeldTicket> {
    const ticket = await this.#tickets.take(nameOf(this.mark), HOLDER_MS, { max: Number.POSITIVE_INFINITY });
    if (Array.isArray(ticket)) throw new TypeError("a mark of several processes");
    return ticket;
  }

  /**
   * Renews the ticket, or takes a new one if its time is over, as after a suspended laptop: tasks that no other process has
   * taken are still held. The lost ticket stays until there is a new one, so that a disk error is followed by another try.
   */
  async #renew(): Promise<void> {
    try {
      const lost = this.#ticket;
      if (lost === null || lost.renew(HOLDER_MS)) return;
      const ticket = await this.#taken();
      if (this.#ticket !== lost) return ticket.release();
      this.#ticket = ticket;
      lost.release();
    } catch {
      // Another process may take its tasks over, which it finds out before it submits or ends anything.
    }
  }
}

function nameOf(mark: string): string {
  return `holder-${mark}`;
}
