import { readFileSync, renameSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { decoded } from "../api/decode.ts";
import type { ReplyHeaders, ReplyReceiver } from "../api/transport.ts";
import type { Clock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, removeIfPossible, removeIfPresent, syncFolder, whileInUse } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { userId } from "../lib/processes.ts";
import { clauseOf } from "./failures.ts";
import { type Job, ProviderError } from "./provider.ts";

/** A reply as it is on disk. */
export interface StoredReply {
  status: number;
  headers: ReplyHeaders;
  body: Buffer;
  /** Why the body may not be whole, as a clause; null for one that is. */
  cut: string | null;
}

/** Where the reply to a job's request is written. */
export function ownReplyFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "reply");
}

/**
 * Where the reply to a job's request is kept: in its folder, or at a fallback that has taken more of it.
 * @throws the disk's error
 */
export function replyFile(job: Pick<Job, "folder" | "fallbackFiles">): string {
  const fallbacks = job.fallbackFiles ?? [];
  if (!fallbacks.some(isPresent)) return ownReplyFile(job);
  let [found, mostBytes] = [ownReplyFile(job), sizeOf(ownReplyFile(job))];
  for (const file of fallbacks) {
    const bytes = sizeOf(file);
    if (bytes > mostBytes) [found, mostBytes] = [file, bytes];
  }
  return found;
}

const ROOT = 0;

/** Size of a file of this user; 0 for any other: others may write to a shared folder. @throws the disk's error */
function sizeOf(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false });
  const self = userId();
  const isOwn = self === undefined || self === ROOT || stats?.uid === self;
  return stats?.isFile() && isOwn ? stats.size : 0;
}

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
  clock: Pick<Clock, "sleep">;
}

/** An image of 64 MiB in base64, and what is around it. */
export const LARGEST_REPLY_BYTES = 128 * 1024 * 1024;
/** A large image in base64, and the image itself. */
const LEAST_FREE_BYTES = 64 * 1024 * 1024;
const SYNC_EVERY_BYTES = 4 * 1024 * 1024;
const WRITE_AGAIN_MS = 1_000;
const END_OF_LINE = 10;

/** Headers by which a reply is read: what is masked in others could be a word of theirs. */
const READ: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "retry-after",
]);

export function isSuccess({ status }: { status: number }): boolean {
  return status >= 200 && status < 300;
}

function freeName(file: string): string {
  for (let number = 1; ; number++) if (!isPresent(`${file}-${number}`)) return `${file}-${number}`;
}

/** Checks that the disk has room for a reply that is paid for. @throws Error */
function requireSpace(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < LEAST_FREE_BYTES) throw new Error("less than 64 MiB of the disk is free");
}

/** The ends of replies that could not be written to the disk, by the paths of their files. Only this process has them. */
const untaken = new Map<string, Buffer>();

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
    if (earlier !== null && isSuccess(earlier)) await whileInUse(() => renameSync(file, freeName(file)));
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
    if (this.#bytes > LARGEST_REPLY_BYTES) throw new Error("it is larger than 128 MiB");
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
      } catch {
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
      return this.#file.isAt(this.#path);
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

/**
 * The reply in a file; null if there is none, or not even its head is whole.
 * @param cut why it may not be whole; absent: as its Content-Length says
 */
export async function readReplyFile(file: string, cut?: string | null): Promise<StoredReply | null> {
  if (!isPresent(file)) return null;
  const rest = untaken.get(file);
  const bytes = rest ? Buffer.concat([readFileSync(file), rest]) : readFileSync(file);
  const end = bytes.indexOf(END_OF_LINE);
  if (end === -1) return null;
  const head = fieldsOf(jsonOrNull(bytes.toString("utf8", 0, end)));
  if (typeof head.status !== "number") return null;
  const headers = fieldsOf(head.headers) as ReplyHeaders;
  const raw = bytes.subarray(end + 1);
  const isCounted = headers["content-length"] === String(raw.length);
  return {
    status: head.status,
    headers,
    body: await unpacked(raw, headers["content-encoding"]),
    cut: cut !== undefined ? cut : isCounted ? null : "the process ended while it arrived",
  };
}

/**
 * The stored reply to a job's request. Only bytes that were read decide: a file that cannot be opened now leaves the job as it
 * is.
 * @param cut as of `readReplyFile`
 * @throws ProviderError (lost, askable) if it cannot be read
 */
export async function storedReply(job: Job, cut?: string | null): Promise<StoredReply | null> {
  const read = async () => readReplyFile(replyFile(job), cut);
  return read()
    .catch(read)
    .catch((cause: unknown) => {
      const message = `Its reply cannot be read now: ${clauseOf(errorText(cause))}.`;
      throw new ProviderError(message, { kind: "lost", isAskable: true }, { cause });
    });
}

/** None is asked for, but some proxies compress anyway. A body that cannot be decompressed stays as it is. */
function unpacked(body: Buffer, encoding: string | string[] | undefined): Promise<Buffer> {
  return decoded(body, encoding, { mostBytes: LARGEST_REPLY_BYTES, mayBeCut: true }).catch(() => body);
}
