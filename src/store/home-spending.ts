import path from "node:path";
import { Ledger } from "./ledger.ts";
import { listFolder } from "./ledger-entry.ts";

/** Where the servers of a home have their folders, a ledger in each. */
export function serversFolder(stateFolder: string): string {
  return path.join(stateFolder, "serve");
}

/** What was or may have been charged from a home: by its commands, and by its servers, each of which has its own ledger. */
export class HomeSpending {
  readonly #stateFolder: string;
  readonly #own: Ledger;
  /** The servers' ledgers by their folders. Each knows what it has read before. */
  readonly #ofServers = new Map<string, Ledger>();

  /** @param own the ledger of the home's commands */
  constructor(stateFolder: string, own: Ledger) {
    this.#stateFolder = stateFolder;
    this.#own = own;
  }

  /** As `Ledger.creditsSince`. */
  async creditsSince(sinceMs: number, keyId: string): Promise<number> {
    return this.#sum((ledger) => ledger.creditsSince(sinceMs, keyId));
  }

  /** As `Ledger.recountCreditsSince`. */
  async recountCreditsSince(sinceMs: number, keyId: string): Promise<number> {
    return this.#sum((ledger) => ledger.recountCreditsSince(sinceMs, keyId));
  }

  async #sum(creditsOf: (ledger: Ledger) => Promise<number>): Promise<number> {
    let sum = 0;
    for (const ledger of [this.#own, ...this.#servers()]) sum += await creditsOf(ledger);
    return sum;
  }

  #servers(): Ledger[] {
    const folder = serversFolder(this.#stateFolder);
    return listFolder(folder).map((name) => {
      const { clock, processes } = this.#own;
      const ledger = this.#ofServers.get(name) ?? new Ledger(path.join(folder, name), clock, processes);
      this.#ofServers.set(name, ledger);
      return ledger;
    });
  }
}
