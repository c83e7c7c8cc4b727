import { createHash } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { systemClock } from "../../lib/clock.ts";
import type { Processes } from "../../lib/processes.ts";
import { Tickets } from "../../lib/tickets.ts";

/**
 * The names of a run's images and sidecars under --overwrite. It replaces files that existed before the run, never an
 * image of the same run or batch: if such an image has the name, the next one gets a number, as without --overwrite.
 */
export class RunFileNames {
  readonly #beganMs: number;
  /** Taken by this run, before the image is published. */
  readonly #taken = new Set<string>();
  /** Used by earlier runs of the same batch. */
  readonly #earlier = new Set<string>();

  /** @param beganMs when the run began, by the wall clock: a newer file may be another process's image and is kept */
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
   * @returns false if the name is another image's, or the existing file must not be replaced
   */
  async take(file: string, keepsSinceMs: number): Promise<boolean> {
    const key = await fileKey(file);
    if (this.#taken.has(key)) return false;
    // Before the first await, so that only one of two concurrent images gets the name.
    this.#taken.add(key);
    if (await this.#mayBeReplaced(file, key, Math.min(this.#beganMs, keepsSinceMs))) return true;
    this.#taken.delete(key);
    return false;
  }

  /** Releases a name that was not used after all. */
  async giveBack(file: string): Promise<void> {
    this.#taken.delete(await fileKey(file));
  }

  async #mayBeReplaced(file: string, key: string, sinceMs: number): Promise<boolean> {
    const there = await promises.lstat(file).catch(() => null);
    if (there === null) return true;
    if (!there.isFile() && !there.isSymbolicLink()) return false;
    // Another process of the same batch may have just published it.
    return !this.#earlier.has(key) && there.mtimeMs < sinceMs;
  }
}

/** The same key for all spellings of a path: through links in its folder, in any case and Unicode form. */
async function fileKey(file: string): Promise<string> {
  const folder = path.dirname(file);
  const real = await promises.realpath(folder).catch(() => folder);
  return path.join(real, foldedName(file));
}

/** A file name as case-insensitive file systems compare it. */
function foldedName(file: string): string {
  return path.basename(file).normalize("NFC").toLowerCase();
}

/** Hidden files, because they lie among the user's images. */
const WHAT = ".imggen-name-";

/**
 * Lifetime of a reservation: much longer than any rename takes. That of another machine, which cannot be checked,
 * is respected for this long even if its process is dead: the image gets a number instead, which is harmless.
 */
const RESERVED_MS = 12 * 3_600_000;

const MAX_TRIES = 10;

/**
 * Reserves an image's name, on a file system without hard links or to replace the file, so that only one of several
 * processes uses it. The reservation is a ticket beside the image, and not the name itself: a process that is killed in
 * between would leave an empty file under the final name, which must be a complete image or nothing.
 * @returns releases the reservation; null while another process has it
 */
export async function reserveName(file: string, processes: Processes): Promise<(() => Promise<void>) | null> {
  const digest = createHash("sha256").update(foldedName(file)).digest("hex").slice(0, 16);
  const tickets = ticketsIn(path.dirname(file), processes);
  for (let tries = 1; ; tries++) {
    const ticket = await tickets.take(`${WHAT}${digest}`, RESERVED_MS);
    if (!Array.isArray(ticket)) return async () => ticket.release();
    // Of those that came at once each may have given way to another.
    if (tries === MAX_TRIES || tickets.listActive(`${WHAT}${digest}`).length > 0) return null;
  }
}

/** Removes reservations of killed processes, at once: they lie among the user's images. */
export function sweepReservations(folder: string, processes: Processes): void {
  ticketsIn(folder, processes).sweep(WHAT, 0);
}

function ticketsIn(folder: string, processes: Processes): Tickets {
  return new Tickets(folder, processes, systemClock);
}
