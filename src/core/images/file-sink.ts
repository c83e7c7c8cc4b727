import { createHash, type Hash } from "node:crypto";
import type { ByteSink } from "../../api/transport.ts";
import type { DiskFile } from "../../lib/disk-file.ts";

/** Bytes are collected in blocks of memory. */
const BLOCK_BYTES = 64 * 1024;
/** Blocks that were written, to be filled again by any download. */
const spareBlocks: Buffer[] = [];
const MOST_SPARE_BLOCKS = 64;
// Large writes are fast, and each is collected while the one before runs.
const WRITE_BYTES = 1024 * 1024;
const MOST_QUEUED_BYTES = 4 * WRITE_BYTES;
// Syncing during the download shortens the sync at its end.
const FLUSH_BYTES = 8 * WRITE_BYTES;

type Target = Pick<DiskFile, "writeChunks" | "sync" | "syncData">;

/** Writes a download to an open file as it arrives, in bounded memory, and hashes it. */
export class FileSink implements ByteSink {
  readonly #file: Target;
  readonly #hash: Hash = createHash("sha256");
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** The last block of the queue, as long as it is not full, and how far it is filled. */
  #open: Buffer | null = null;
  #filled = 0;
  #writing: Promise<void> | null = null;
  #unflushed = 0;
  #flushing: Promise<void> | null = null;
  #paused: { resume(): void } | null = null;
  #failure: unknown = null;
  bytes = 0;

  constructor(file: Target) {
    this.#file = file;
  }

  /** The error of the first failed write; null if there is none. */
  get failure(): unknown {
    return this.#failure;
  }

  write(chunk: Buffer, flow: { pause(): void; resume(): void }): void {
    if (this.#failure) throw this.#failure;
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    this.#collect(chunk);
    if (this.#queuedBytes >= WRITE_BYTES) this.#startWriting();
    if (this.#queuedBytes >= MOST_QUEUED_BYTES && !this.#paused) {
      this.#paused = flow;
      flow.pause();
    }
  }

  /** Discards what is not being written yet and waits for the current write: until then the file must stay open. */
  async abandon(): Promise<void> {
    giveBack(this.#takeQueue().blocks);
    await this.#writing;
    await this.#flushing;
  }

  /** Waits until everything is written. @returns the SHA-256 of all bytes, in hex. @throws the disk's error */
  async finish(): Promise<string> {
    while (this.#failure === null && (this.#writing || this.#queue.length > 0)) {
      this.#startWriting();
      await this.#writing;
    }
    await this.#flushing;
    if (this.#failure) throw this.#failure;
    await this.#file.sync();
    return this.#hash.digest("hex");
  }

  #collect(chunk: Buffer): void {
    this.#queuedBytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const block = this.#open ?? this.#openBlock();
      const copied = chunk.copy(block, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === block.length) this.#open = null;
    }
  }

  #openBlock(): Buffer {
    this.#open = spareBlocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#filled = 0;
    this.#queue.push(this.#open);
    return this.#open;
  }

  /** Empties the queue. @returns what was in it */
  #takeQueue(): { blocks: Buffer[]; chunks: Buffer[] } {
    const blocks = this.#queue;
    const chunks =
      this.#open === null ? blocks : [...blocks.slice(0, -1), this.#open.subarray(0, this.#filled)];
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#open = null;
    return { blocks, chunks };
  }

  #startWriting(): void {
    if (this.#writing || this.#failure) return;
    this.#unflushed += this.#queuedBytes;
    const { blocks, chunks } = this.#takeQueue();
    this.#writing = this.#file
      .writeChunks(chunks)
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .then(() => {
        giveBack(blocks);
        this.#wrote();
      });
  }

  #flush(): void {
    if (this.#flushing || this.#unflushed < FLUSH_BYTES) return;
    this.#unflushed = 0;
    this.#flushing = this.#file
      .syncData()
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .then(() => {
        this.#flushing = null;
      });
  }

  #wrote(): void {
    this.#writing = null;
    this.#flush();
    if (this.#queuedBytes >= WRITE_BYTES) this.#startWriting();
    this.#paused?.resume();
    this.#paused = null;
  }
}

function giveBack(blocks: readonly Buffer[]): void {
  spareBlocks.push(...blocks.slice(0, MOST_SPARE_BLOCKS - spareBlocks.length));
}
