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

/** Flags for a new file. Because of `O_APPEND`, two processes cannot overwrite each other's lines. */
const CREATE_EXCLUSIVE = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND;

/** An open file. Small operations are synchronous, because asynchronous operations take ten times as long. */
export class DiskFile {
  /** Null after `close`, because the system can reuse the number for another file. */
  #descriptor: number | null;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get #fd(): number {
    if (this.#descriptor === null) throw Object.assign(new Error("the file is closed"), { code: "EBADF" });
    return this.#descriptor;
  }

  /** @throws EEXIST if the file exists */
  static createExclusive(file: string, mode: number): DiskFile {
    return DiskFile.#fromNew(file, openSync(file, CREATE_EXCLUSIVE, mode));
  }

  static async createInBackground(file: string, mode: number): Promise<DiskFile> {
    return DiskFile.#fromNew(file, await promisify(open)(file, CREATE_EXCLUSIVE, mode));
  }

  static #fromNew(file: string, descriptor: number): DiskFile {
    giveToOwnerOfFolder(file, (uid, gid) => fchownSync(descriptor, uid, gid));
    return new DiskFile(descriptor);
  }

  /** Opens an existing file. Every write goes to the end, even if other processes write to the file. @throws ENOENT */
  static openToAppend(file: string): DiskFile {
    return new DiskFile(openSync(file, constants.O_RDWR | constants.O_APPEND));
  }

  /** Opens a file or folder. Returns at once even if the file is a named pipe without a writer. @throws ENOENT */
  static openToRead(file: string): DiskFile {
    return new DiskFile(openSync(file, NON_BLOCKING_READ));
  }

  /** @throws Error if the file is a folder, a pipe or a device */
  requireRegular(): void {
    const stats = fstatSync(this.#fd);
    if (!stats.isFile()) throw new Error(stats.isDirectory() ? "it is a folder" : "it is not a regular file");
  }

  /** Whether the path still refers to the open file. @throws the disk's error */
  isAtPath(file: string): boolean {
    const current = statSync(file, { bigint: true, throwIfNoEntry: false });
    const opened = fstatSync(this.#fd, { bigint: true });
    return current !== undefined && current.ino === opened.ino && current.dev === opened.dev;
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Reads `length` bytes from `position` on, or fewer bytes at the end of the file. */
  read(position: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const bytesRead = readSync(this.#fd, buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  write(bytes: Uint8Array): void {
    let writtenBytes = 0;
    while (writtenBytes < bytes.length)
      writtenBytes += requireProgress(writeSync(this.#fd, bytes, writtenBytes, bytes.length - writtenBytes));
  }

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

  async setMode(mode: number): Promise<void> {
    await ignoreUnsupported(() => promisify(fchmod)(this.#fd, mode));
  }

  /** Closes the file even if it throws. Further calls do nothing. @throws the disk's error */
  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** Ignores a system error, because some file systems (FAT, network shares) do not support modes or times. */
export async function ignoreUnsupported(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}

const ROOT_USER_ID = 0;

/** Gives a file that root created to the folder's owner, so that users can read the records of a run with sudo. */
export function giveToOwnerOfFolder(
  file: string,
  give = (uid: number, gid: number) => lchownSync(file, uid, gid),
): void {
  if (userId() !== ROOT_USER_ID) return;
  try {
    const { uid, gid } = statSync(path.dirname(file));
    if (uid !== ROOT_USER_ID) give(uid, gid);
  } catch {}
}

/** @throws EIO for 0 bytes, because the caller would otherwise loop forever */
function requireProgress(bytes: number): number {
  if (bytes > 0) return bytes;
  throw Object.assign(new Error("the disk stored no bytes"), { code: "EIO" });
}

function dropBytes(bytes: number, chunks: readonly Uint8Array[]): Uint8Array[] {
  let remainingBytes = bytes;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(Math.min(remainingBytes, chunk.length));
    remainingBytes -= chunk.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}

const NON_BLOCKING_READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Opens a file, named pipe or terminal without blocking, because a blocked thread would keep the process from exiting.
 * @throws the system's error; an error of a later read is an event of the stream
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
