import { createHash, type Hash } from "node:crypto";
import type { DiskFile } from "../lib/disk-file.ts";
import type { ByteSink } from "./transport.ts";

/** Amount of data to collect before a write, because a few large writes are faster than many small writes. */
const WRITE_BYTES = 1024 * 1024;

type Target = Pick<DiskFile, "writeChunks" | "sync">;

/** Writes and hashes a download while it arrives. */
export class FileSink implements ByteSink {
  readonly #file: Target;
  readonly #hash: Hash = createHash("sha256");
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | null = null;
  #failure: unknown = null;
  bytes = 0;

  constructor(file: Target) {
    this.#file = file;
  }

  /** Error of the first failed write, or null. */
  get failure(): unknown {
    return this.#failure;
  }

  write(chunk: Buffer): void {
    if (this.#failure) throw this.#failure;
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= WRITE_BYTES) this.#startWriting();
  }

  /** Discards unwritten data and waits for the current write, during which the file must stay open. */
  async abandon(): Promise<void> {
    this.#takeQueue();
    await this.#writing;
  }

  /** Waits until all data is synced. @returns the SHA-256 of all bytes, in hex @throws the disk's error */
  async finish(): Promise<string> {
    while (this.#failure === null && (this.#writing || this.#queue.length > 0)) {
      this.#startWriting();
      await this.#writing;
    }
    if (this.#failure) throw this.#failure;
    await this.#file.sync();
    return this.#hash.digest("hex");
  }

  #takeQueue(): Buffer[] {
    const chunks = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    return chunks;
  }

  #startWriting(): void {
    if (this.#writing || this.#failure) return;
    this.#writing = this.#file
      .writeChunks(this.#takeQueue())
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .then(() => this.#wrote());
  }

  #wrote(): void {
    this.#writing = null;
    if (this.#queuedBytes >= WRITE_BYTES) this.#startWriting();
  }
}
