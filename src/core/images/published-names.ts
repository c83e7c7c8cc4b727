import { createHash } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { systemClock } from "../../lib/clock.ts";
import type { Processes } from "../../lib/processes.ts";
import { Tickets } from "../../lib/tickets.ts";

/** Names of a run's images and sidecars under --overwrite. Only files that are older than the run are replaced. */
export class RunFileNames {
  readonly #beganMs: number;
  /** Names that this run has taken. A name is taken before its image is published. */
  readonly #taken = new Set<string>();
  /** Names that earlier runs of the same batch used. */
  readonly #earlier = new Set<string>();

  /** @param beganMs start of the run, by the wall clock; newer files might be another process's, so they are kept */
  constructor(beganMs: number) {
    this.#beganMs = beganMs;
  }

  async addEarlier(file: string): Promise<void> {
    this.#earlier.add(await fileKey(file));
  }

  /**
   * Takes a name before the file with this name is replaced. Returns false if the name is taken or the file is kept.
   * @param keepsSinceMs minimum modification time of files that are kept, even if they are older than the run
   */
  async take(file: string, keepsSinceMs: number): Promise<boolean> {
    const key = await fileKey(file);
    if (this.#taken.has(key)) return false;
    // The name is taken before the next await, so that only one of two concurrent images gets it.
    this.#taken.add(key);
    if (await this.#mayBeReplaced(file, key, Math.min(this.#beganMs, keepsSinceMs))) return true;
    this.#taken.delete(key);
    return false;
  }

  async giveBack(file: string): Promise<void> {
    this.#taken.delete(await fileKey(file));
  }

  async #mayBeReplaced(file: string, key: string, sinceMs: number): Promise<boolean> {
    const existing = await promises.lstat(file).catch(() => null);
    if (existing === null) return true;
    if (!existing.isFile() && !existing.isSymbolicLink()) return false;
    // A new file is kept, because another process of the same batch might have published it.
    return !this.#earlier.has(key) && existing.mtimeMs < sinceMs;
  }
}

/** Returns the same key for all spellings of a path, regardless of symbolic links, letter case and Unicode form. */
async function fileKey(file: string): Promise<string> {
  const folder = path.dirname(file);
  const real = await promises.realpath(folder).catch(() => folder);
  return path.join(real, foldedName(file));
}

/** Returns a file name in the form in which case-insensitive file systems compare names. */
function foldedName(file: string): string {
  return path.basename(file).normalize("NFC").toLowerCase();
}

const TICKET_PREFIX = ".imggen-name-";

/** Lifetime of a reservation, much longer than a rename takes. Other machines cannot detect a dead process earlier. */
const RESERVED_MS = 12 * 3_600_000;

const MAX_TRIES = 10;

/**
 * Reserves an image's name against other processes, for file systems without hard links and for replacements. The
 * reservation is a separate file, because a killed process must not leave an empty file under the final name.
 * @returns a function that releases the reservation; null if another process has reserved the name
 */
export async function reserveName(file: string, processes: Processes): Promise<(() => Promise<void>) | null> {
  const digest = createHash("sha256").update(foldedName(file)).digest("hex").slice(0, 16);
  const tickets = ticketsIn(path.dirname(file), processes);
  for (let tries = 1; ; tries++) {
    const ticket = await tickets.take(`${TICKET_PREFIX}${digest}`, RESERVED_MS);
    if (!Array.isArray(ticket)) return async () => ticket.release();
    // If several processes tried at once, each might have yielded to another, so this process tries again.
    if (tries === MAX_TRIES || tickets.listActive(`${TICKET_PREFIX}${digest}`).length > 0) return null;
  }
}

/** Removes reservations of killed processes at once, because their files are in the user's image folder. */
export function sweepReservations(folder: string, processes: Processes): void {
  ticketsIn(folder, processes).sweep(TICKET_PREFIX, 0);
}

function ticketsIn(folder: string, processes: Processes): Tickets {
  return new Tickets(folder, processes, systemClock);
}
