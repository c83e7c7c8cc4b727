import { renameSync, statfsSync } from "node:fs";
import path from "node:path";
import type { ReplyHeaders, ReplyReceiver } from "../api/transport.ts";
import type { Clock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, removeIfPossible, removeIfPresent, retryWhileInUse, syncFolder } from "../lib/durable.ts";
import {
  isSuccess,
  MAX_REPLY_BYTES,
  readReplyFile,
  type StoredReply,
  unwrittenRests,
} from "./stored-reply.ts";

interface ReplyFileOptions {
  /** Whether the reply is paid for. If so, the reply is synced, and its write is retried until a disk accepts it. */
  isPaid: boolean;
  mask: (text: string) => string;
  /** Files for the complete reply if its first disk fails, in order of preference. Default: no files. */
  fallbackFiles?: readonly string[] | undefined;
  /** Whether an unwritten reply is dispensable, because the ledger's reserve file has space for its facts. */
  isDispensable?: ((reply: StoredReply) => boolean) | undefined;
  /** Called once if a paid reply cannot be written to any disk. */
  onUnstored?: (() => void) | undefined;
  /** Whether the reply can be requested again. If so, a write error stops the transfer. */
  isRepeatable?: boolean;
  clock: Pick<Clock, "sleep">;
}

/** Free disk space that a paid reply requires, in bytes: enough for a large image and its base64. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;
const SYNC_INTERVAL_BYTES = 4 * 1024 * 1024;
const WRITE_RETRY_MS = 1_000;

/** Headers for parsing a stored reply. Their values are not masked, because masking could corrupt them. */
const PARSED_HEADERS: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "retry-after",
]);

function findFreeName(file: string): string {
  for (let number = 1; ; number++) if (!isPresent(`${file}-${number}`)) return `${file}-${number}`;
}

/** @throws Error if the disk has too little space for a paid reply */
function requireSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < MIN_FREE_BYTES) throw new Error("less than 64 MiB of the disk is free");
}

/** Releases the memory of replies whose files no longer exist, so that a server's memory does not fill up. */
function releaseRemovedReplies(): void {
  for (const file of unwrittenRests.keys()) {
    try {
      if (!isPresent(file)) unwrittenRests.delete(file);
    } catch {
      // After a disk error, the file might still exist.
    }
  }
}

/**
 * Writes a reply to a private file while it arrives, so that a killed process does not lose a paid image.
 * The first line contains the status and the headers, and the body follows.
 */
export class ReplyFile implements ReplyReceiver {
  readonly #path: string;
  readonly #file: DiskFile;
  readonly #options: ReplyFileOptions;
  #isSuccess = false;
  /** Body of an error reply. It is masked as a whole, because two chunks might each contain a part of the key. */
  readonly #errorChunks: Buffer[] = [];
  #receivedBytes = 0;
  #unsyncedBytes = 0;
  /** Part of the reply that is not in the file, from the first byte that could not be written. */
  #unwritten: Buffer[] = [];
  #syncing: Promise<void> = Promise.resolve();

  private constructor(filePath: string, file: DiskFile, options: ReplyFileOptions) {
    this.#path = filePath;
    this.#file = file;
    this.#options = options;
  }

  /** Keeps an earlier successful reply under another name. @throws Error if the disk fails or is too full */
  static async create(file: string, options: ReplyFileOptions): Promise<ReplyFile> {
    const earlierReply = await readReplyFile(file);
    if (earlierReply !== null && isSuccess(earlierReply))
      await retryWhileInUse(() => renameSync(file, findFreeName(file)));
    removeIfPresent(file);
    releaseRemovedReplies();
    if (options.isPaid) requireSpace(path.dirname(file));
    const created = DiskFile.createExclusive(file, 0o600);
    if (options.isPaid) await syncFolder(path.dirname(file));
    return new ReplyFile(file, created, options);
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#isSuccess = isSuccess({ status });
    const masked = Object.entries(headers).map(([name, value]) => [
      name,
      value === undefined || PARSED_HEADERS.has(name) ? value : this.#options.mask(String(value)),
    ]);
    const head = { status, headers: Object.fromEntries(masked) };
    this.#write(Buffer.from(`${JSON.stringify(head)}\n`));
  }

  onData(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > MAX_REPLY_BYTES) throw new Error("it is larger than 128 MiB");
    if (!this.#isSuccess) {
      this.#errorChunks.push(chunk);
      return;
    }
    this.#write(chunk);
    this.#unsyncedBytes += chunk.length;
    if (!this.#options.isPaid || this.#unsyncedBytes < SYNC_INTERVAL_BYTES) return;
    // A sync during the transfer makes the final sync faster.
    this.#unsyncedBytes = 0;
    this.#syncing = this.#file.sync().catch(() => {});
  }

  #write(bytes: Buffer): void {
    let rest = bytes;
    if (this.#unwritten.length === 0) {
      const sizeBefore = this.#file.size;
      try {
        this.#file.write(bytes);
        return;
      } catch (error) {
        if (this.#options.isRepeatable) throw error;
        rest = bytes.subarray(this.#file.size - sizeBefore);
      }
    }
    this.#unwritten.push(rest);
  }

  /** The write of a paid reply is retried until a disk accepts it, because this process has the only copy. */
  async #store(): Promise<void> {
    const { isPaid, onUnstored, clock } = this.#options;
    for (let retries = 0; ; retries++) {
      const rest = Buffer.concat(this.#unwritten);
      this.#unwritten = [];
      this.#write(rest);
      if (this.#unwritten.length === 0 && (!this.#isSuccess || this.#isAtItsPath())) return;
      if (this.#isSuccess && (await this.#storeInFallbackFile())) return;
      if (this.#unwritten.length === 0) return;
      unwrittenRests.set(this.#path, Buffer.concat(this.#unwritten));
      if (!isPaid || !this.#isSuccess || (await this.#isDispensable())) return;
      unwrittenRests.delete(this.#path);
      if (retries === 0) onUnstored?.();
      await clock.sleep(WRITE_RETRY_MS);
    }
  }

  async #isDispensable(): Promise<boolean> {
    const { isDispensable } = this.#options;
    const stored = isDispensable && (await readReplyFile(this.#path).catch(() => null));
    return stored ? isDispensable(stored) : false;
  }

  /** False if another process has ended the task and removed its folder while this process was suspended. */
  #isAtItsPath(): boolean {
    try {
      return this.#file.isAtPath(this.#path);
    } catch {
      // After a disk error, the file might still exist.
      return true;
    }
  }

  /** Returns whether a fallback file now contains the complete reply. */
  async #storeInFallbackFile(): Promise<boolean> {
    for (const file of this.#options.fallbackFiles ?? []) {
      let copy: DiskFile | null = null;
      try {
        copy = DiskFile.createExclusive(file, 0o600);
        await copy.writeChunks([this.#file.read(0, this.#file.size), ...this.#unwritten]);
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

  /** Writes and closes the file. Waits until a paid reply is on a disk. Never throws. */
  async close(): Promise<void> {
    await this.#syncing;
    try {
      const errorBody = Buffer.concat(this.#errorChunks);
      const maskedText = this.#options.mask(errorBody.toString("utf8"));
      // If masking changes nothing, the original bytes are written, because text would damage a compressed body.
      this.#write(maskedText === errorBody.toString("utf8") ? errorBody : Buffer.from(maskedText));
      await this.#store();
      if (this.#options.isPaid) await this.#file.sync();
    } catch {
      // The error is ignored, because the bytes that were written can still be read.
    }
    closeIfPossible(this.#file);
  }
}

function closeIfPossible(file: DiskFile): void {
  try {
    file.close();
  } catch {
    // The error is ignored, because the bytes that were written can still be read.
  }
}
