import {
  closeSync,
  constants,
  fchmod,
  fdatasync,
  fstatSync,
  fsync,
  open,
  openSync,
  readSync,
  writeSync,
  writev,
} from "node:fs";
import { WITHOUT_WAITING } from "./open-input.ts";

const CREATE_ALONE = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR;

/**
 * An open file. Small steps are done at once: that takes a tenth of the processor time of a trip to a thread and
 * back, and there are dozens of them to a task. What waits for the disk (a sync, the writes of an image), and
 * what makes, names and marks an image's file in a folder that may be far away, goes on beside other work.
 */
export class DiskFile {
  /** null once it is closed: the number may be another file's by then. */
  #descriptor: number | null;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get #fd(): number {
    if (this.#descriptor === null) throw Object.assign(new Error("the file is closed"), { code: "EBADF" });
    return this.#descriptor;
  }

  /** Creates a file that must not exist yet; whoever gets it is the only one. @throws EEXIST */
  static createExclusive(file: string, mode: number): DiskFile {
    return new DiskFile(openSync(file, CREATE_ALONE, mode));
  }

  /** As `createExclusive`, while other work goes on. */
  static createInBackground(file: string, mode: number): Promise<DiskFile> {
    return new Promise((resolve, reject) => {
      open(file, CREATE_ALONE, mode, (error, fd) => (error ? reject(error) : resolve(new DiskFile(fd))));
    });
  }

  /** Opens a file that is there. Writes go to its end, whoever else writes. @throws ENOENT */
  static openToAppend(file: string): DiskFile {
    return new DiskFile(openSync(file, constants.O_RDWR | constants.O_APPEND));
  }

  /** Opens a file, or a folder that is to be synced. A named pipe in its place is not waited for. @throws ENOENT */
  static openToRead(file: string): DiskFile {
    return new DiskFile(openSync(file, WITHOUT_WAITING));
  }

  /** Whether it is neither a folder nor a pipe nor a device. */
  get isRegular(): boolean {
    return fstatSync(this.#fd).isFile();
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Reads as much as there is, up to `length` bytes; the file's own position does not move. */
  read(position: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    // A single read may return less than is there; only one of nothing means the end.
    while (filled < length) {
      const taken = readSync(this.#fd, buffer, filled, length - filled, position + filled);
      if (taken === 0) break;
      filled += taken;
    }
    return buffer.subarray(0, filled);
  }

  /** Writes every byte: a single write may legally take only some of them (a disk that fills up, a signal). */
  write(bytes: Uint8Array): void {
    let done = 0;
    while (done < bytes.length) done += someTaken(writeSync(this.#fd, bytes, done, bytes.length - done));
  }

  /** Writes every byte of several chunks, in their order, while other work goes on. */
  async writeChunks(chunks: readonly Uint8Array[]): Promise<void> {
    let left = chunks.filter((chunk) => chunk.length > 0);
    while (left.length > 0) left = without(someTaken(await this.#writeSome(left)), left);
  }

  #writeSome(chunks: readonly Uint8Array[]): Promise<number> {
    return new Promise((resolve, reject) => {
      writev(this.#fd, chunks, (error, bytesWritten) => (error ? reject(error) : resolve(bytesWritten)));
    });
  }

  /** Waits until the disk has the file, its size and its times. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fsync(this.#fd, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Waits until the disk has the file's bytes. */
  syncData(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Changes the permissions, while other work goes on. */
  setMode(mode: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fchmod(this.#fd, mode, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** What is closed already stays so. @throws what the disk says; the file is closed all the same */
  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** @throws EIO where the disk took nothing, which would go on for ever */
function someTaken(bytes: number): number {
  if (bytes > 0) return bytes;
  throw Object.assign(new Error("the disk took no bytes"), { code: "EIO" });
}

/** What is left of the chunks after their first bytes. */
function without(bytes: number, chunks: readonly Uint8Array[]): Uint8Array[] {
  let before = bytes;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(Math.min(before, chunk.length));
    before -= chunk.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}
