import { readdirSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { DiskFile } from "../../lib/disk-file.ts";
import { removeIfPossible } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";

/** A process that does not renew its ticket for this long is stopped, or gone. */
const FRESH_MS = 5_000;
const ABANDONED_MS = 60_000;

/**
 * The order in which tasks get slots, over all processes that share a folder: the oldest first. Each process has a ticket
 * there for its own oldest task, whose name sorts by time, and renews it while it waits.
 */
export class WaitQueue {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;
  #ticket: string | null = null;

  constructor(folder: string, clock: Pick<Clock, "now">) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Waits for a task, in place of the one before. @returns whether no other process has an older one there */
  isFirst({ submittedAt, taskId }: { submittedAt: number; taskId: string }): boolean {
    const ticket = `${String(submittedAt).padStart(15, "0")}-${taskId}`;
    if (ticket !== this.#ticket) this.leave();
    this.#ticket = ticket;
    this.#renew(path.join(this.#folder, ticket));
    return !readdirSync(this.#folder).some((name) => name < ticket && this.#isFresh(name));
  }

  leave(): void {
    if (this.#ticket !== null) removeIfPossible(path.join(this.#folder, this.#ticket));
    this.#ticket = null;
  }

  #renew(file: string): void {
    const seconds = this.#clock.now() / 1000;
    try {
      utimesSync(file, seconds, seconds);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
      DiskFile.createExclusive(file, 0o600).close();
      utimesSync(file, seconds, seconds);
    }
  }

  #isFresh(name: string): boolean {
    const file = path.join(this.#folder, name);
    const renewed = statSync(file, { throwIfNoEntry: false });
    if (renewed === undefined) return false;
    const ageMs = this.#clock.now() - renewed.mtimeMs;
    if (ageMs > ABANDONED_MS) removeIfPossible(file);
    return ageMs < FRESH_MS;
  }
}
