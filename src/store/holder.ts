import { randomBytes } from "node:crypto";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { HeldTicket, Tickets } from "../lib/tickets.ts";

export const TICKET_DURATION_MS = 60_000;

/** Shows other processes that this process is working on its tasks. One ticket for all tasks saves writes. */
export class Holder {
  readonly mark = randomBytes(8).toString("hex");
  readonly #tickets: Tickets;
  readonly #taskIds = new Set<string>();
  #ticket: HeldTicket | null = null;
  #announcing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(tickets: Tickets) {
    this.#tickets = tickets;
  }

  /** @throws the disk's error */
  async hold(id: string): Promise<void> {
    this.#taskIds.add(id);
    if (this.#ticket !== null) return;
    this.#announcing ??= this.#announce().finally(() => {
      this.#announcing = null;
    });
    try {
      await this.#announcing;
    } catch (error) {
      this.#taskIds.delete(id);
      throw error;
    }
  }

  has(id: string): boolean {
    return this.#taskIds.has(id);
  }

  release(id: string): void {
    this.#taskIds.delete(id);
    const ticket = this.#ticket;
    if (this.#taskIds.size > 0 || ticket === null) return;
    clearInterval(this.#timer);
    this.#ticket = null;
    ticket.release();
  }

  /**
   * Whether the process with this mark is working on a task. Each task of a living other process counts, because its
   * mark does not show at which task the process works. @throws the disk's error
   */
  isClaimed(id: string, mark: string | null): boolean {
    if (mark === null) return false;
    return mark === this.mark ? this.has(id) : this.#tickets.listActive(ticketName(mark)).length > 0;
  }

  /** Returns the living process with this mark, or null. @throws the disk's error */
  findProcess(mark: string | null): ProcessIdentity | null {
    return mark === null ? null : (this.#tickets.listActive(ticketName(mark))[0]?.lease.by ?? null);
  }

  sweep(): void {
    this.#tickets.sweep();
  }

  async #announce(): Promise<void> {
    this.#ticket = await this.#takeTicket();
    this.#timer = setInterval(() => void this.#renew(), TICKET_DURATION_MS / 3).unref();
  }

  async #takeTicket(): Promise<HeldTicket> {
    const ticket = await this.#tickets.take(ticketName(this.mark), TICKET_DURATION_MS, {
      max: Number.POSITIVE_INFINITY,
    });
    if (Array.isArray(ticket)) throw new TypeError("several processes have the same mark");
    return ticket;
  }

  /**
   * Renews the ticket, or replaces a ticket that has expired while the computer was suspended. The expired ticket is
   * released only after its replacement, so that the next renewal retries after a disk error.
   */
  async #renew(): Promise<void> {
    try {
      const previous = this.#ticket;
      if (previous === null || previous.renew(TICKET_DURATION_MS)) return;
      const ticket = await this.#takeTicket();
      if (this.#ticket !== previous) return ticket.release();
      this.#ticket = ticket;
      previous.release();
    } catch {
      // Another process can take the tasks over, which this process detects before it submits or ends a task.
    }
  }
}

function ticketName(mark: string): string {
  return `holder-${mark}`;
}
