import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";
import { type HeldTicket, Tickets } from "../lib/tickets.ts";

/** Lifetime of a server's ticket without renewal. The lifetime is long, because the server might be suspended. */
const TICKET_DURATION_MS = 60_000;

const RENEW_MS = TICKET_DURATION_MS / 3;

export interface LivingServer {
  /** Renews the server's ticket if necessary. Never throws. */
  renew(): Promise<void>;
  end(): void;
}

/** The running `imggen serve` processes. Each has a ticket, so that its waiting tasks are not taken over. */
export class Servers {
  readonly #tickets: Tickets;
  readonly #clock: Pick<Clock, "now">;

  constructor(ledgerFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.#tickets = new Tickets(path.join(ledgerFolder, "servers"), processes, clock);
    this.#clock = clock;
  }

  /** @throws the disk's error */
  async join(server: string): Promise<LivingServer> {
    this.#tickets.sweep();
    let ticket = await this.#take(server);
    let renewAtMs = this.#clock.now() + RENEW_MS;
    return {
      renew: async () => {
        if (this.#clock.now() < renewAtMs) return;
        try {
          // The ticket might have expired while the process was suspended.
          if (!ticket.renew(TICKET_DURATION_MS)) ticket = await this.#take(server);
          renewAtMs = this.#clock.now() + RENEW_MS;
        } catch {
          // Ignored, because a takeover of waiting tasks by another process does no harm.
        }
      },
      end: () => {
        try {
          ticket.release();
        } catch {
          // Ignored, because the ticket becomes invalid when this process ends.
        }
      },
    };
  }

  /** @throws the disk's error */
  findLiving(server: string): ProcessIdentity | null {
    const tickets = this.#tickets.listActive(ticketName(server));
    return tickets.find(({ lease }) => lease.by !== null)?.lease.by ?? null;
  }

  async #take(server: string): Promise<HeldTicket> {
    const ticket = await this.#tickets.take(ticketName(server), TICKET_DURATION_MS, {
      max: Number.POSITIVE_INFINITY,
    });
    if (Array.isArray(ticket)) throw new Error("a server's ticket was refused");
    return ticket;
  }
}

function ticketName(server: string): string {
  return `server-${server}`;
}
