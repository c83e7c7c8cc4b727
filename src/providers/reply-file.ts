import { renameSync, statfsSync } from "node:fs";
import path from "node:path";
import type { ReplyHeaders, ReplyReceiver } from "../api/transport.ts";
import type { Clock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, removeIfPossible, removeIfPresent, retryWhileInUse, syncFolder } from "../lib/durable.ts";
import { isSuccess, MAX_REPLY_BYTES, readReplyFile, type StoredReply, untaken } from "./stored-reply.ts";

interface ReplyFileOptions {
  /** Whether it is paid for: a power cut must not lose it either, and it is written again until a disk takes it. */
  isPaid: boolean;
  /** Hides the key. */
  mask: (text: string) => string;
  /** Files that take all of it if its own disk does not, in this order. Default: none. */
  fallbackFiles?: readonly string[] | undefined;
  /** Whether a reply that no disk takes needs none: the ledger, which has a reserve, records all that it says. */
  isDispensable?: ((reply: StoredReply) => boolean) | undefined;
  /** Called once if no disk takes it. */
  onUnstored?: (() => void) | undefined;
  /** Whether the reply can be had again: what the disk does not take ends it, and is not kept in memory. */
  isRepeatable?: boolean;
  clock: Pick<Clock, "sleep">;
}

/** A large image in base64, and the image itself. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;
const SYNC_EVERY_BYTES = 4 * 1024 * 1024;
const WRITE_AGAIN_MS = 1_000;

/** Headers by which a reply is read: what is masked in others could be a word of theirs. */
const READ: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "retry-after",
]);

function freeName(file: string): string {
  for (let number = 1; ; number++) if (!isPresent(`${file}-${number}`)) return `${file}-${number}`;
}

/** Checks that the disk has room for a reply that is paid for. @throws Error */
function requireSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < MIN_FREE_BYTES) throw new Error("less than 64 MiB of the disk is free");
}

/** A saved image's reply is removed from the disk, and a server that runs for weeks must not keep its end. */
function forgetRemoved(): void {
  for (const file of untaken.keys()) {
    try {
      if (!isPresent(file)) untaken.delete(file);
    } catch {
      // The disk cannot tell, so it may be there.
    }
  }
}

/**
 * A reply that is written to a private file while it arrives: its status and headers in the first line, its body after
 * that. What has arrived is in the file before anything reads it, so a process that is killed after the last byte has
 * lost nothing. What its own disk does not take, another one takes whole; of a free reply, else the rest stays in memory.
 */
export class ReplyFile implements ReplyReceiver {
  readonly #path: string;
  readonly #file: DiskFile;
  readonly #options: ReplyFileOptions;
  #isSuccess = false;
  /** The body of an error, which may repeat the key: it is written when its end has come. */
  readonly #error: Buffer[] = [];
  #bytes = 0;
  #unsynced = 0;
  /** From the first byte on that the disk has not taken. */
  #untaken: Buffer[] = [];
  #syncing: Promise<void> = Promise.resolve();

  private constructor(filePath: string, file: DiskFile, options: ReplyFileOptions) {
    this.#path = filePath;
    this.#file = file;
    this.#options = options;
  }

  /**
   * Nothing of an earlier reply is read after this; one that is a success stays under another name.
   * @throws the disk's error, or one that says that too little of it is free for a reply that is paid for
   */
  static async create(file: string, options: ReplyFileOptions): Promise<ReplyFile> {
    const earlier = await readReplyFile(file);
    if (earlier !== null && isSuccess(earlier)) await retryWhileInUse(() => renameSync(file, freeName(file)));
    removeIfPresent(file);
    forgetRemoved();
    if (options.isPaid) requireSpace(path.dirname(file));
    const created = DiskFile.createExclusive(file, 0o600);
    if (options.isPaid) await syncFolder(path.dirname(file));
    return new ReplyFile(file, created, options);
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#isSuccess = isSuccess({ status });
    const masked = Object.entries(headers).map(([name, value]) => [
      name,
      value === undefined || READ.has(name) ? value : this.#options.mask(String(value)),
    ]);
    const head = { status, headers: Object.fromEntries(masked) };
    this.#write(Buffer.from(`${JSON.stringify(head)}\n`));
  }

  onData(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_REPLY_BYTES) throw new Error("it is larger than 128 MiB");
    if (!this.#isSuccess) {
      this.#error.push(chunk);
      return;
    }
    this.#write(chunk);
    this.#unsynced += chunk.length;
    if (!this.#options.isPaid || this.#unsynced < SYNC_EVERY_BYTES) return;
    // What is on the disk early shortens the sync at the end.
    this.#unsynced = 0;
    this.#syncing = this.#file.sync().catch(() => {});
  }

  #write(bytes: Buffer): void {
    let rest = bytes;
    if (this.#untaken.length === 0) {
      const before = this.#file.size;
      try {
        this.#file.write(bytes);
        return;
      } catch (error) {
        if (this.#options.isRepeatable) throw error;
        rest = bytes.subarray(this.#file.size - before);
      }
    }
    this.#untaken.push(rest);
  }

  /**
   * Finds a place for what the disk has not taken. A reply that is paid for is tried again and again: if this process ends, so
   * does what is only in its memory.
   */
  async #store(): Promise<void> {
    const { isPaid, onUnstored, clock } = this.#options;
    for (let tries = 0; ; tries++) {
      const rest = Buffer.concat(this.#untaken);
      this.#untaken = [];
      this.#write(rest);
      if (this.#untaken.length === 0 && (!this.#isSuccess || this.#isInPlace())) return;
      if (this.#isSuccess && (await this.#storeElsewhere())) return;
      if (this.#untaken.length === 0) return;
      untaken.set(this.#path, Buffer.concat(this.#untaken));
      if (!isPaid || !this.#isSuccess || (await this.#isDispensable())) return;
      untaken.delete(this.#path);
      if (tries === 0) onUnstored?.();
      await clock.sleep(WRITE_AGAIN_MS);
    }
  }

  async #isDispensable(): Promise<boolean> {
    const { isDispensable } = this.#options;
    const stored = isDispensable && (await readReplyFile(this.#path).catch(() => null));
    return stored ? isDispensable(stored) : false;
  }

  /** Whether its folder is still there: its task may have been ended while this process was stopped. */
  #isInPlace(): boolean {
    try {
      return this.#file.isAtPath(this.#path);
    } catch {
      // The disk cannot tell, so it may be there.
      return true;
    }
  }

  /** @returns whether a fallback has taken all of the reply */
  async #storeElsewhere(): Promise<boolean> {
    for (const file of this.#options.fallbackFiles ?? []) {
      let copy: DiskFile | null = null;
      try {
        copy = DiskFile.createExclusive(file, 0o600);
        await copy.writeChunks([this.#file.read(0, this.#file.size), ...this.#untaken]);
        await copy.sync();
        copy.close();
        await syncFolder(path.dirname(file));
        return true;
      } catch {
        if (copy === null) continue;
        removeIfPossible(file);
        closeIfPossible(copy);
      }
    }
    return false;
  }

  /** Waits until a disk has it, if it is paid for. */
  async close(): Promise<void> {
    await this.#syncing;
    try {
      const error = Buffer.concat(this.#error);
      const masked = this.#options.mask(error.toString("utf8"));
      // One that is compressed is no text, and has no key that could be read in it.
      this.#write(masked === error.toString("utf8") ? error : Buffer.from(masked));
      await this.#store();
      if (this.#options.isPaid) await this.#file.sync();
    } catch {
      // What is there can still be read.
    }
    closeIfPossible(this.#file);
  }
}

function closeIfPossible(file: DiskFile): void {
  try {
    file.close();
  } catch {
    // What is there can still be read.
  }
}
