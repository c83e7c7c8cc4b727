import {
  closeSync,
  constants,
  createReadStream,
  fchmod,
  fchownSync,
  fstatSync,
  fsync,
  lchownSync,
  open,
  openSync,
  readSync,
  statSync,
  writeSync,
  writev,
} from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { errorCode } from "./error-text.ts";
import { userId } from "./processes.ts";

/** Append mode: a process on another machine may take the task over and write to the same file. */
const CREATE_EXCLUSIVE = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND;

/**
 * An open file. Small operations are synchronous: each task needs dozens of them, and a round trip to a thread takes
 * ten times as long. Syncs, writes of images, and the creation of images (possibly on a network) are asynchronous.
 */
export class DiskFile {
  /** null once closed: the system may reuse the number for another file. */
  #descriptor: number | null;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get #fd(): number {
    if (this.#descriptor === null) throw Object.assign(new Error("the file is closed"), { code: "EBADF" });
    return this.#descriptor;
  }

  /**
   * Creates a file that must not exist, so that only one process creates it.
   * @throws EEXIST
   */
  static createExclusive(file: string, mode: number): DiskFile {
    return DiskFile.#created(file, openSync(file, CREATE_EXCLUSIVE, mode));
  }

  /** Asynchronous version of `createExclusive`. */
  static async createInBackground(file: string, mode: number): Promise<DiskFile> {
    return DiskFile.#created(file, await promisify(open)(file, CREATE_EXCLUSIVE, mode));
  }

  static #created(file: string, descriptor: number): DiskFile {
    giveToOwnerOfFolder(file, (uid, gid) => fchownSync(descriptor, uid, gid));
    return new DiskFile(descriptor);
  }

  /** Opens an existing file. Writes go to its end, even if other processes write too. @throws ENOENT */
  static openToAppend(file: string): DiskFile {
    return new DiskFile(openSync(file, constants.O_RDWR | constants.O_APPEND));
  }

  /**
   * Opens a file, or a folder to sync it. Does not wait for a named pipe's writer.
   * @throws ENOENT
   */
  static openToRead(file: string): DiskFile {
    return new DiskFile(openSync(file, NON_BLOCKING_READ));
  }

  /** @throws Error if it is a folder, a pipe or a device */
  requireRegular(): void {
    const stats = fstatSync(this.#fd);
    if (!stats.isFile()) throw new Error(stats.isDirectory() ? "it is a folder" : "it is not a regular file");
  }

  /**
   * Whether this name still belongs to the open file.
   * @throws the disk's error
   */
  isAt(file: string): boolean {
    const there = statSync(file, { bigint: true, throwIfNoEntry: false });
    const here = fstatSync(this.#fd, { bigint: true });
    return there !== undefined && there.ino === here.ino && there.dev === here.dev;
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Reads `length` bytes, fewer only at the end of the file. The file position does not move. */
  read(position: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    // A single read may be short; only an empty one means the end.
    while (filled < length) {
      const bytesRead = readSync(this.#fd, buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  /** Writes every byte: a single write may be short (full disk, signal). */
  write(bytes: Uint8Array): void {
    let writtenBytes = 0;
    while (writtenBytes < bytes.length)
      writtenBytes += requireProgress(writeSync(this.#fd, bytes, writtenBytes, bytes.length - writtenBytes));
  }

  /** Writes every byte of several chunks, in their order, asynchronously. */
  async writeChunks(chunks: readonly Uint8Array[]): Promise<void> {
    let remaining = chunks.filter((chunk) => chunk.length > 0);
    while (remaining.length > 0)
      remaining = dropBytes(requireProgress(await this.#writeSome(remaining)), remaining);
  }

  #writeSome(chunks: readonly Uint8Array[]): Promise<number> {
    return new Promise((resolve, reject) => {
      writev(this.#fd, chunks, (error, bytesWritten) => (error ? reject(error) : resolve(bytesWritten)));
    });
  }

  async sync(): Promise<void> {
    await promisify(fsync)(this.#fd);
  }

  /** Does nothing on a disk without permissions. */
  async setMode(mode: number): Promise<void> {
    await ifSupported(() => promisify(fchmod)(this.#fd, mode));
  }

  /**
   * Idempotent.
   * @throws the disk's error; the file is closed nevertheless
   */
  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    if (descriptor !== null) closeSync(descriptor);
  }
}

/**
 * Ignores the error of a disk that does not support a mode or a time (FAT, network shares): the file's content
 * matters more.
 */
export async function ifSupported(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}

const ROOT = 0;

/**
 * Gives a new file of root's to the owner of its folder: otherwise a run with sudo would leave records that the owner
 * cannot read. Ignored on a disk without owners.
 * @param give changes the owner. Default: by the file's name
 */
export function giveToOwnerOfFolder(
  file: string,
  give = (uid: number, gid: number) => lchownSync(file, uid, gid),
): void {
  if (userId() !== ROOT) return;
  try {
    const { uid, gid } = statSync(path.dirname(file));
    if (uid !== ROOT) give(uid, gid);
  } catch {
    // root can still use it.
  }
}

/** @throws EIO if a write wrote nothing: a loop would never end */
function requireProgress(bytes: number): number {
  if (bytes > 0) return bytes;
  throw Object.assign(new Error("the disk took no bytes"), { code: "EIO" });
}

function dropBytes(bytes: number, chunks: readonly Uint8Array[]): Uint8Array[] {
  let before = bytes;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(Math.min(before, chunk.length));
    before -= chunk.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}

/** Windows has no such flag, and needs none. */
const NON_BLOCKING_READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Opens an input file, possibly a named pipe or a terminal. Does not block one of Node's threads: a thread that waits
 * for a writer cannot be stopped, and the process cannot exit before it.
 * @throws the system's error, here or during reads
 */
export async function openInput(file: string): Promise<Readable> {
  const fd = openSync(file, NON_BLOCKING_READ);
  const stats = fstatSync(fd);
  if (stats.isFIFO()) return new (await import("node:net")).Socket({ fd, readable: true, writable: false });
  if (stats.isCharacterDevice()) {
    const tty = await import("node:tty");
    if (tty.isatty(fd)) return new tty.ReadStream(fd);
  }
  return createReadStream("", { fd });
}
