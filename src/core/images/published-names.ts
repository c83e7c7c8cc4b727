import { createHash } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { systemClock } from "../../lib/clock.ts";
import type { Processes } from "../../lib/processes.ts";
import { Tickets } from "../../lib/tickets.ts";

/**
 * Names of a run's images and sidecars under --overwrite, which replaces only files that existed before the run. If an image
 * of the same run or batch has the name, the next image gets a number.
 */
export class RunFileNames {
  readonly #beganMs: number;
  /** Taken by this run, before the image is published. */
  readonly #taken = new Set<string>();
  /** Used by earlier runs of the same batch. */
  readonly #earlier = new Set<string>();

  /** @param beganMs start of the run, by the wall clock; newer files are kept, because they may be another process's images */
  constructor(beganMs: number) {
    this.#beganMs = beganMs;
  }

  /** Adds an image that an earlier run of the same batch published. */
  async addEarlier(file: string): Promise<void> {
    this.#earlier.add(await fileKey(file));
  }

  /**
   * Takes a name for an image or a sidecar that is to replace the existing file.
   * @param keepsSinceMs a file as new as this is kept, even if it is older than the run
   * @returns false if another image has the name, or the existing file must not be replaced
   */
  async take(file: string, keepsSinceMs: number): Promise<boolean> {
    const key = await fileKey(file);
    if (this.#taken.has(key)) return false;
    // Before the next await, so that only one of two concurrent images gets the name.
    this.#taken.add(key);
    if (await this.#mayBeReplaced(file, key, Math.min(this.#beganMs, keepsSinceMs))) return true;
    this.#taken.delete(key);
    return false;
  }

  /** Releases an unused name. */
  async giveBack(file: string): Promise<void> {
    this.#taken.delete(await fileKey(file));
  }

  async #mayBeReplaced(file: string, key: string, sinceMs: number): Promise<boolean> {
    const existing = await promises.lstat(file).catch(() => null);
    if (existing === null) return true;
    if (!existing.isFile() && !existing.isSymbolicLink()) return false;
    // Another process of the same batch may have just published it.
    return !this.#earlier.has(key) && existing.mtimeMs < sinceMs;
  }
}

/** Returns the same key for all spellings of a path: with links, in any case and any Unicode form. */
async function fileKey(file: string): Promise<string> {
  const folder = path.dirname(file);
  const real = await promises.realpath(folder).catch(() => folder);
  return path.join(real, foldedName(file));
}

/** A file name as case-insensitive file systems compare it. */
function foldedName(file: string): string {
  return path.basename(file).normalize("NFC").toLowerCase();
}

const TICKET_PREFIX = ".imggen-name-";

/**
 * Lifetime of a reservation, much longer than any rename. A dead process on another machine cannot be detected, so its
 * reservation lasts this long; the image then gets a number.
 */
const RESERVED_MS = 12 * 3_600_000;

const MAX_TRIES = 10;

/**
 * Reserves an image's name against other processes, for a file system without hard links or a replacement. The reservation is
 * a separate ticket, because a killed process must not leave an empty file under the final name.
 * @returns a function that releases the reservation; null while another process has it
 */
export async function reserveName(file: string, processes: Processes): Promise<(() => Promise<void>) | null> {
  const digest = createHash("sha256").update(foldedName(file)).digest("hex").slice(0, 16);
  const tickets = ticketsIn(path.dirname(file), processes);
  for (let tries = 1; ; tries++) {
    const ticket = await tickets.take(`${TICKET_PREFIX}${digest}`, RESERVED_MS);
    if (!Array.isArray(ticket)) return async () => ticket.release();
    // Of several processes at once, each may have yielded to another.
    if (tries === MAX_TRIES || tickets.listActive(`${TICKET_PREFIX}${digest}`).length > 0) return null;
  }
}

/** Removes reservations of killed processes at once, because they are among the user's images. */
export function sweepReservations(folder: string, processes: Processes): void {
  ticketsIn(folder, processes).sweep(TICKET_PREFIX, 0);
}

function ticketsIn(folder: string, processes: Processes): Tickets {
  return new Tickets(folder, processes, systemClock);
}
