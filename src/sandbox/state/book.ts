import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { jsonOrNull } from "../../lib/json.ts";

/** A line of an account's file. The opening balance counts once, however many processes wrote it. */
type Entry = { opened: number } | { set: number } | { charged: number; for: string };

/**
 * One account's balance in an append-only file, shared by any number of processes. Each line is one write at the file's
 * end, and the order of lines decides: a charge that the lines before it do not cover is void. Nothing is synced,
 * because the balance only has to outlive the process.
 */
export class AccountBook {
  readonly #file: string;
  readonly #startCredits: number;
  /** How many bytes of the file the balance includes. */
  #bytesRead = 0;
  #balance: number | null = null;
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(file: string, startCredits: number) {
    this.#file = file;
    this.#startCredits = startCredits;
  }

  balance(): Promise<number> {
    return this.#inTurn(async (handle) => {
      await this.#catchUp(handle);
      return this.#balance ?? this.#startCredits;
    });
  }

  /** Charges credits for an id. @returns the remaining balance; null if there were too few */
  charge(credits: number, id: string): Promise<number | null> {
    return this.#inTurn(async (handle) => {
      await this.#append(handle, { charged: credits, for: id });
      const paidFor = await this.#catchUp(handle);
      return paidFor.includes(id) ? this.#balance : null;
    });
  }

  /** Sets the balance if it is too low for what is to be paid. @returns whether it was */
  raise(credits: number, toPay: number): Promise<boolean> {
    return this.#inTurn(async (handle) => {
      await this.#catchUp(handle);
      if ((this.#balance ?? this.#startCredits) >= toPay) return false;
      await this.#append(handle, { set: credits });
      return true;
    });
  }

  setBalance(credits: number): Promise<void> {
    return this.#inTurn((handle) => this.#append(handle, { set: credits }));
  }

  async #append(handle: FileHandle, entry: Entry): Promise<void> {
    await this.#catchUp(handle);
    // A full disk may have left the last line unfinished; the new line must not become a part of it.
    const { size } = await handle.stat();
    const entries = this.#balance === null ? [{ opened: this.#startCredits }, entry] : [entry];
    const lines = entries.map((each) => `${JSON.stringify(each)}\n`).join("");
    const bytes = Buffer.from(size > this.#bytesRead ? `\n${lines}` : lines);
    const { bytesWritten } = await handle.write(bytes);
    if (bytesWritten < bytes.length) throw new Error("the disk took only part of a line");
  }

  /** Adds the new complete lines of all processes. @returns the ids that they charge for */
  async #catchUp(handle: FileHandle): Promise<string[]> {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(Math.max(0, size - this.#bytesRead));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, this.#bytesRead);
    const end = bytes.subarray(0, bytesRead).lastIndexOf("\n") + 1;
    this.#bytesRead += end;
    const lines = bytes.toString("utf8", 0, end).split("\n");
    return lines.map((line) => this.#enter(parseEntry(line))).filter((id) => id !== null);
  }

  /** @returns the id that was charged for, if the entry is a valid charge */
  #enter(entry: Entry | null): string | null {
    if (entry === null) return null;
    if ("set" in entry) this.#balance = entry.set;
    else if ("opened" in entry) this.#balance ??= entry.opened;
    else if (this.#balance !== null && entry.charged <= this.#balance) {
      this.#balance -= entry.charged;
      return entry.for;
    }
    return null;
  }

  /** Runs one call at a time in this process, with the file open. */
  #inTurn<Result>(work: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    const turn = this.#lastTurn.then(() => this.#withFile(work));
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #withFile<Result>(work: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    const handle = await open(this.#file, constants.O_CREAT | constants.O_RDWR | constants.O_APPEND, 0o600);
    try {
      return await work(handle);
    } finally {
      await handle.close();
    }
  }
}

/** null for a line that a full disk or a crash cut short. */
function parseEntry(line: string): Entry | null {
  return jsonOrNull(line) as Entry | null;
}
