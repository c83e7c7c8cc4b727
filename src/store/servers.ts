import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";
import { type HeldTicket, Tickets } from "../lib/tickets.ts";

/** Lifetime of a server's ticket without renewal, in milliseconds: it may be suspended. */
const LIVING_MS = 60_000;

const RENEW_MS = LIVING_MS / 3;

/** A registered process of a server. */
export interface LivingServer {
  /** Renews the ticket when due. Never throws. */
  renew(): Promise<void>;
  end(): void;
}

/** The running servers (`imggen serve`): each process holds a ticket, because many tasks wait in it. */
export class Servers {
  readonly #tickets: Tickets;
  readonly #clock: Pick<Clock, "now">;

  constructor(ledgerFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.#tickets = new Tickets(path.join(ledgerFolder, "servers"), processes, clock);
    this.#clock = clock;
  }

  /**
   * Registers this process as one of a server.
   * @param server letters and digits
   * @throws the disk's error
   */
  async join(server: string): Promise<LivingServer> {
    this.#tickets.sweep();
    let ticket = await this.#take(server);
    let renewAtMs = this.#clock.now() + RENEW_MS;
    return {
      renew: async () => {
        if (this.#clock.now() < renewAtMs) return;
        try {
          // A suspended process loses it.
          if (!ticket.renew(LIVING_MS)) ticket = await this.#take(server);
          renewAtMs = this.#clock.now() + RENEW_MS;
        } catch {
          // Without the ticket another process may take waiting tasks over, which does no harm.
        }
      },
      end: () => {
        try {
          ticket.release();
        } catch {
          // It ends with this process.
        }
      },
    };
  }

  /**
   * A running process of a server; null if there is none.
   * @throws the disk's error
   */
  living(server: string): ProcessIdentity | null {
    const tickets = this.#tickets.active(ticketName(server));
    return tickets.find(({ lease }) => lease.by !== null)?.lease.by ?? null;
  }

  async #take(server: string): Promise<HeldTicket> {
    const ticket = await this.#tickets.take(ticketName(server), LIVING_MS, { max: Number.POSITIVE_INFINITY });
    if (Array.isArray(ticket)) throw new Error("a server's ticket was refused");
    return ticket;
  }
}

function ticketName(server: string): string {
  return `server-${server}`;
}
