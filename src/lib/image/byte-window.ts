/** Random access to bytes. A read returns fewer bytes than requested only at the end. */
export interface ByteSource {
  read(position: number, length: number): Promise<Uint8Array>;
  /** Total bytes. */
  size: number;
}

const WINDOW_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * One window of 256 KiB over a source of any size. Walking a file from header to header costs one read per
 * window rather than one per header, and memory stays the same however large the file is.
 */
export class ByteWindow {
  readonly size: number;
  readonly #source: ByteSource;
  #start = 0;
  #bytes: Buffer = NOTHING;

  constructor(source: ByteSource) {
    this.size = source.size;
    this.#source = source;
  }

  /** Exactly `length` bytes, or `null` if the file ends before them. */
  async bytes(position: number, length: number): Promise<Buffer | null> {
    const view = this.loaded(position, length) ?? (await this.from(position, length));
    return view === null ? null : view.subarray(0, length);
  }

  /** From `position` to the end of the window: at least `least` bytes, or `null` if the file ends sooner. */
  async from(position: number, least: number): Promise<Buffer | null> {
    return this.loaded(position, least) ?? (await this.#load(position, least));
  }

  /** As `from`, but only what is in memory already, so that a walk in tiny steps need not await each. */
  loaded(position: number, least: number): Buffer | null {
    const offset = position - this.#start;
    if (offset < 0 || offset + least > this.#bytes.length) return null;
    return this.#bytes.subarray(offset);
  }

  async #load(position: number, least: number): Promise<Buffer | null> {
    if (position + least > this.size) return null;
    const length = Math.min(Math.max(WINDOW_BYTES, least), this.size - position);
    const read = await this.#source.read(position, length);
    this.#start = position;
    this.#bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
    // A file that was truncated during the read ends here.
    return this.#bytes.length < least ? null : this.#bytes;
  }
}
