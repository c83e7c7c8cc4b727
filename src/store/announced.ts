import { appendFileSync } from "node:fs";
import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, removeIfPossible } from "../lib/durable.ts";
import type { TaskRecord } from "../task/record.ts";
import { namesIn } from "./ledger-entry.ts";
import { doneFolder, isId } from "./ledger-name.ts";

/** A task that is about to be submitted, as its process has announced it. */
export interface Announcement {
  id: string;
  keyId: string;
  credits: number;
}

/**
 * The tasks that processes with a daily limit are about to submit: one line each, appended to a file of the day. Each
 * process learns about the others by reading the new lines, however long the ledger is. The task files are the record;
 * these lines are not synced, and may be lost or removed at any time.
 */
export class Announced {
  readonly #folder: string;
  /** How far each file was read, in bytes. */
  readonly #read = new Map<string, number>();

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "announced");
  }

  /** Announces a recorded task to the other processes. @throws the disk's error */
  async add({ id, intent }: TaskRecord): Promise<void> {
    const file = path.join(this.#folder, dayOf(id));
    if (!isPresent(file)) await makeFolder(this.#folder, 0o700);
    // If a full disk cut the last line short, this one must not become a part of it.
    const line = `\n${id} ${intent.service.keyId} ${intent.credits ?? 0}\n`;
    appendFileSync(file, line, { mode: 0o600 });
  }

  /** What was announced since the last call, from a day on. @throws the disk's error */
  *newSince(since: string): Generator<Announcement> {
    for (const day of namesIn(this.#folder)) if (day >= dayOf(since)) yield* this.#newOf(day);
  }

  /** Removes what was announced before a day. */
  removeBefore(since: string): void {
    for (const day of namesIn(this.#folder)) {
      if (day < dayOf(since)) removeIfPossible(path.join(this.#folder, day));
    }
  }

  *#newOf(day: string): Generator<Announcement> {
    const file = DiskFile.openToRead(path.join(this.#folder, day));
    try {
      const from = this.#read.get(day) ?? 0;
      const added = file.read(from, Math.max(0, file.size - from));
      // The rest may be a line that is still being written.
      const whole = added.subarray(0, added.lastIndexOf(0x0a) + 1);
      this.#read.set(day, from + whole.length);
      for (const line of whole.toString("utf8").split("\n")) {
        const [id = "", keyId = "", credits = ""] = line.split(" ");
        if (isId(id) && /^\d+(\.\d+)?$/.test(credits)) yield { id, keyId, credits: Number(credits) };
      }
    } finally {
      file.close();
    }
  }
}

/** The day of a task's id: `2026-01-31`. */
function dayOf(id: string): string {
  return path.dirname(doneFolder(id));
}
