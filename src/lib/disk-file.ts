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

/** Appending: the process of another machine may take a task over, and write to the same file. */
const CREATE_ALONE = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND;

/**
 * An open file. Small operations are synchronous: that takes a tenth of the processor time of a trip to a thread and
 * back, and each task needs dozens of them. Operations that wait for the disk (a sync, the writes of an image), or that
 * create an image in a folder that may be on a network, are asynchronous.
 */
export class DiskFile {
  /** null once it is closed, because the number may then belong to another file. */
  #descriptor: number | null;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get #fd(): number {
    if (this.#descriptor === null) throw Object.assign(new Error("the file is closed"), { code: "EBADF" });
    return this.#descriptor;
  }

  /** Creates a file that must not exist yet, so that only one process creates it. @throws EEXIST */
  static createExclusive(file: string, mode: number): DiskFile {
    return DiskFile.#created(file, openSync(file, CREATE_ALONE, mode));
  }

  /** Does what `createExclusive` does, asynchronously. */
  static async createInBackground(file: string, mode: number): Promise<DiskFile> {
    return DiskFile.#created(file, await promisify(open)(file, CREATE_ALONE, mode));
  }

  static #created(file: string, descriptor: number): DiskFile {
    giveToOwnerOfFolder(file, (uid, gid) => fchownSync(descriptor, uid, gid));
    return new DiskFile(descriptor);
  }

  /** Opens an existing file. Writes go to its end, even if other processes write too. @throws ENOENT */
  static openToAppend(file: string): DiskFile {
    return new DiskFile(openSync(file, constants.O_RDWR | constants.O_APPEND));
  }

  /** Opens a file, or a folder to sync it. If it is a named pipe, this does not wait for a writer. @throws ENOENT */
  static openToRead(file: string): DiskFile {
    return new DiskFile(openSync(file, WITHOUT_WAITING));
  }

  /** @throws Error with a clause if it is a folder, a pipe or a device */
  requireRegular(): void {
    const stats = fstatSync(this.#fd);
    if (!stats.isFile()) throw new Error(stats.isDirectory() ? "it is a folder" : "it is not a regular file");
  }

  /** Whether the file is still the one of this name. @throws the disk's error */
  isAt(file: string): boolean {
    const there = statSync(file, { bigint: true, throwIfNoEntry: false });
    const here = fstatSync(this.#fd, { bigint: true });
    return there !== undefined && there.ino === here.ino && there.dev === here.dev;
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Reads up to `length` bytes, fewer only at the end of the file; the file's own position does not move. */
  read(position: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    // A single read may return less than is there; only an empty one means the end.
    while (filled < length) {
      const taken = readSync(this.#fd, buffer, filled, length - filled, position + filled);
      if (taken === 0) break;
      filled += taken;
    }
    return buffer.subarray(0, filled);
  }

  /** Writes every byte: a single write may write only some of them (the disk fills up, a signal arrives). */
  write(bytes: Uint8Array): void {
    let done = 0;
    while (done < bytes.length) done += someTaken(writeSync(this.#fd, bytes, done, bytes.length - done));
  }

  /** Writes every byte of several chunks, in their order, asynchronously. */
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
  async sync(): Promise<void> {
    await promisify(fsync)(this.#fd);
  }

  /** Changes the permissions, asynchronously, as `ifKept`. */
  async setMode(mode: number): Promise<void> {
    await ifKept(() => promisify(fchmod)(this.#fd, mode));
  }

  /** Closes the file; does nothing if it is closed. @throws the disk's error; the file is closed nevertheless */
  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    if (descriptor !== null) closeSync(descriptor);
  }
}

/**
 * Changes the mode or the time of a file. On a disk that refuses it, such as FAT or a network share, the file stays as it is:
 * its bytes are worth more.
 */
export async function ifKept(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}

const ROOT = 0;

/**
 * Gives a file that root has just created to the owner of its folder. Otherwise a run with sudo would leave records that the
 * folder's owner cannot read. On a disk without owners the file stays root's.
 * @param give changes the owner. Default: by the name of the file
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
    // The user who made it can use it all the same.
  }
}

/** @throws EIO if a write wrote nothing: repeating it would never end */
function someTaken(bytes: number): number {
  if (bytes > 0) return bytes;
  throw Object.assign(new Error("the disk took no bytes"), { code: "EIO" });
}

/** The chunks without their first bytes. */
function without(bytes: number, chunks: readonly Uint8Array[]): Uint8Array[] {
  let before = bytes;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(Math.min(before, chunk.length));
    before -= chunk.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}

/** Windows has no such flag, and no file whose opening waits for another process. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Opens an input file, which may be a named pipe or a terminal. Waiting for one of those must not block one of Node's
 * threads: a thread that waits for a writer cannot be stopped, and the process cannot exit before it ends.
 * @throws the system's error, here or while it is read
 */
export async function openInput(file: string): Promise<Readable> {
  const fd = openSync(file, WITHOUT_WAITING);
  const kind = fstatSync(fd);
  if (kind.isFIFO()) return new (await import("node:net")).Socket({ fd, readable: true, writable: false });
  if (kind.isCharacterDevice()) {
    const tty = await import("node:tty");
    if (tty.isatty(fd)) return new tty.ReadStream(fd);
  }
  return createReadStream("", { fd });
}
