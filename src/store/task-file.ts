import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { markTaskOpened } from "../lib/error-types.ts";
import { publishOnce } from "../lib/publish.ts";
import { randomDigits } from "../lib/write-whole.ts";
import type { Line } from "../task/line.ts";
import { TEMPORARY_MARK } from "./ledger-name.ts";

export const LEDGER_VERSION = 2;

export function formatLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

const DISPENSABLE_LINES: ReadonlySet<Line["type"]> = new Set(["started", "waiting", "gone"]);

/** Whether a line is allowed to use the reserved disk space. Losing other lines does not cause a second submit. */
export function mayUseReserve({ type }: Line): boolean {
  return !DISPENSABLE_LINES.has(type);
}

export class TaskFile {
  readonly path: string;
  readonly #file: DiskFile;
  /** Whether the last line might be incomplete, so that the next must begin with a line feed. */
  #isTorn: boolean;
  readonly #makeRoom: () => void;

  private constructor(path: string, file: DiskFile, isTorn: boolean, makeRoom: () => void) {
    markTaskOpened();
    this.path = path;
    this.#file = file;
    this.#isTorn = isTorn;
    this.#makeRoom = makeRoom;
  }

  /**
   * Creates a task's file with its first line. Does not use the reserved space, because a full disk must prevent a
   * submit.
   * @throws EEXIST, or the disk's error
   */
  static async create(path: string, first: Line, makeRoom: () => void): Promise<TaskFile> {
    try {
      return await TaskFile.createPart(path, first, makeRoom);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") removeIfPossible(path);
      throw error;
    }
  }

  /** Like `create`, but keeps the file after an error, because another process might have created the next part. */
  static async createPart(path: string, first: Line, makeRoom: () => void): Promise<TaskFile> {
    const file = new TaskFile(path, DiskFile.createExclusive(path, 0o600), false, makeRoom);
    try {
      await file.#append(first);
      return file;
    } catch (error) {
      file.closeIfPossible();
      throw error;
    }
  }

  /**
   * Like `create`, but atomic, because an incomplete file would look like the file of a dead process.
   * @param isFree called with the synced temporary file
   * @returns null if `isFree` returns false, or the file exists
   */
  static async createAtomically(
    path: string,
    first: Line,
    isFree: (temporary: string) => Promise<boolean>,
    makeRoom: () => void,
  ): Promise<TaskFile | null> {
    const temporary = `${path}${TEMPORARY_MARK}${randomDigits()}`;
    const file = await TaskFile.create(temporary, first, makeRoom);
    try {
      const result = (await isFree(temporary)) ? await publishOnce(temporary, path) : "exists";
      if (result === "published") return new TaskFile(path, file.#file, false, makeRoom);
      file.close();
      return result === "copied" ? await TaskFile.reopen(path, makeRoom) : null;
    } catch (error) {
      file.closeIfPossible();
      throw error;
    } finally {
      removeIfPossible(temporary);
    }
  }

  /** @throws ENOENT */
  static async reopen(path: string, makeRoom: () => void): Promise<TaskFile> {
    const file = DiskFile.openToAppend(path);
    try {
      const { size } = file;
      const isTorn = size > 0 && file.read(size - 1, 1)[0] !== 0x0a;
      return new TaskFile(path, file, isTorn, makeRoom);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Whether the file is still at its path. Another process might have ended the task and moved the file. */
  isInPlace(): boolean {
    return this.#file.isAtPath(this.path);
  }

  /**
   * Appends a line and syncs the file. On a full disk, removes the reserve file to record a vital line.
   * @param isVital default: by the line's type
   * @throws the system's error if the disk is still full
   */
  async record(line: Line, isVital = mayUseReserve(line)): Promise<void> {
    try {
      await this.#append(line);
    } catch (error) {
      const isFull = errorCode(error) === "ENOSPC" || errorCode(error) === "EDQUOT";
      if (!isFull || !isVital) throw error;
      this.#makeRoom();
      await this.#append(line);
    }
  }

  async #append(line: Line): Promise<void> {
    this.#write(line);
    await this.#file.sync();
    this.#isTorn = false;
  }

  #write(line: Line): void {
    const text = `${this.#isTorn ? "\n" : ""}${formatLine(line)}`;
    this.#isTorn = true;
    this.#file.write(Buffer.from(text));
  }

  /** Closes a part with an unsynced line `released`, which has no effect after this process. @param at ISO 8601 */
  release(at: string): void {
    try {
      this.#write({ type: "released", at });
    } catch {
      // Ignored, because other processes can take the task over when this process ends.
    }
    this.#file.close();
  }

  close(): void {
    this.#file.close();
  }

  closeIfPossible(): void {
    try {
      this.#file.close();
    } catch {}
  }
}

/** Syncs another process's file. Never throws. */
export async function syncIfPossible(path: string): Promise<void> {
  try {
    const file = DiskFile.openToRead(path);
    await file.sync().finally(() => file.close());
  } catch {}
}
