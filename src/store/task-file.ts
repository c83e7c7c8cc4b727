import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { noteTask } from "../lib/error-types.ts";
import { publishOnce } from "../lib/publish.ts";
import { randomDigits } from "../lib/write-whole.ts";
import type { Line } from "../task/line.ts";
import { TEMPORARY_MARK } from "./ledger-name.ts";

/** Version of new files; older ones can be read too. */
export const LEDGER_VERSION = 2;

/** Includes the line feed. */
export function formatLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

const DISPENSABLE: ReadonlySet<Line["type"]> = new Set(["started", "waiting", "gone"]);

/**
 * Whether the reserve may be released for a line. Dispensable lines matter only until the next line, and losing one
 * never causes a second submit.
 */
export function mayUseReserve({ type }: Line): boolean {
  return !DISPENSABLE.has(type);
}

/**
 * One part of a task, open for appending by the process that created it. `record` returns once the line is synced.
 */
export class TaskFile {
  readonly path: string;
  readonly #file: DiskFile;
  /** Whether the last line may be incomplete, so that the next one must begin on a new line. */
  #isTorn: boolean;
  readonly #makeRoom: () => void;

  private constructor(path: string, file: DiskFile, isTorn: boolean, makeRoom: () => void) {
    noteTask();
    this.path = path;
    this.#file = file;
    this.#isTorn = isTorn;
    this.#makeRoom = makeRoom;
  }

  /**
   * Creates the file with its first line, which is the claim. The reserve is not released for it: nothing is
   * submitted on a full disk.
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

  /**
   * As `create`, for a further part, which stays even without a complete first line: another part may follow it by
   * then.
   */
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
   * As `create`, but atomically, for a name that other processes read: they must not mistake an incomplete file for a
   * dead process's.
   * @param isFree called with the temporary file once it is synced
   * @returns null if `isFree` returns false, or the name is taken
   */
  static async createWhole(
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

  /**
   * Opens a part that this process created before.
   * @throws ENOENT
   */
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

  /** Whether the file is still in place: the task has not ended, and no other file replaced it. */
  isInPlace(): boolean {
    return this.#file.isAt(this.path);
  }

  /**
   * Appends a line and syncs it. On a full disk the reserve is released for a vital line.
   * @param isVital default: by the line's type
   * @throws the system's error if even that did not help
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

  /**
   * Closes a part of an unfinished task. The line is not synced: it matters only while this process lives.
   * @param at ISO 8601
   */
  release(at: string): void {
    try {
      this.#write({ type: "released", at });
    } catch {
      // Disk error: the task waits until this process ends.
    }
    this.#file.close();
  }

  close(): void {
    this.#file.close();
  }

  /** For a file with its last line: an error no longer matters. */
  closeIfPossible(): void {
    try {
      this.#file.close();
    } catch {
      // A descriptor is closed even if close reports an error.
    }
  }
}

/** Syncs a file of another process. Never throws. */
export async function syncIfPossible(path: string): Promise<void> {
  try {
    const file = DiskFile.openToRead(path);
    await file.sync().finally(() => file.close());
  } catch {
    // Taking the task reports a disk error, or that the task is finished.
  }
}
