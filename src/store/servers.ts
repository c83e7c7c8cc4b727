import { readdirSync } from "node:fs";
import path from "node:path";
import { isOwnerHeld, leaseEnd, type OwnerLease, ownerLeaseIn } from "../lib/claim-files.ts";
import type { Clock } from "../lib/clock.ts";
import { makeFolder, removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";
import { readRegular } from "../lib/read-file.ts";
import { draftedFile, randomDigits, removeOldDrafts, replaceUnsynced } from "../lib/write-whole.ts";
import { namesIn } from "./ledger-files.ts";

/** How long a server counts as living without renewing its lease, in milliseconds: it may be suspended. */
const LEASE_MS = 60_000;

const NAME = /^([0-9a-z]+)\.[0-9a-f]{8}$/;

/** A process of a server, among those that live. */
export interface LivingServer {
  /** Renews the lease, if it is time to. Never throws. */
  renew(): void;
  end(): void;
}

/** Which servers (`imggen serve`) live: each process of one keeps a lease in a file, because many tasks wait in it. */
export class Servers {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #processes: Processes;

  constructor(ledgerFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.#folder = path.join(ledgerFolder, "servers");
    this.#clock = clock;
    this.#processes = processes;
  }

  /** Registers this process as one of a server's. @param server lower-case letters and digits @throws the disk's error */
  async join(server: string): Promise<LivingServer> {
    await makeFolder(this.#folder, 0o700);
    await this.#sweep();
    const file = path.join(this.#folder, `${server}.${randomDigits()}`);
    let renewAtMs = this.#write(file);
    return {
      renew: () => {
        if (this.#clock.now() < renewAtMs) return;
        try {
          renewAtMs = this.#write(file);
        } catch {
          // Without the lease another process may take waiting tasks over, which does no harm.
        }
      },
      end: () => removeIfPossible(file),
    };
  }

  /** A living process of a server; null if there is none. @throws the disk's error */
  living(server: string): ProcessIdentity | null {
    for (const name of namesIn(this.#folder)) {
      if (NAME.exec(name)?.[1] !== server) continue;
      const lease = this.#held(name);
      if (lease !== null && !("by" in lease)) return lease;
    }
    return null;
  }

  #write(file: string): number {
    const nowMs = this.#clock.now();
    const lease: OwnerLease = { ...this.#processes.self, until: leaseEnd(LEASE_MS, nowMs) };
    replaceUnsynced(file, JSON.stringify(lease), 0o600);
    return nowMs + LEASE_MS / 3;
  }

  #held(name: string): OwnerLease | null {
    try {
      const lease = ownerLeaseIn(readRegular(path.join(this.#folder, name)).toString("utf8"));
      return isOwnerHeld(lease, this.#processes, this.#clock.now()) ? lease : null;
    } catch (error) {
      // An error without a code means that it is no regular file, and so no server's.
      if (errorCode(error) === "ENOENT" || errorCode(error) === undefined) return null;
      throw error;
    }
  }

  /** Removes what killed processes have left. */
  async #sweep(): Promise<void> {
    for (const name of readdirSync(this.#folder)) {
      if (NAME.test(name) && this.#held(name) === null) removeIfPossible(path.join(this.#folder, name));
    }
    await removeOldDrafts(this.#folder, (name) => NAME.test(draftedFile(name) ?? ""), this.#clock.now());
  }
}
