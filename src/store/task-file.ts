import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { noteTask } from "../lib/error-types.ts";
import { publishOnce } from "../lib/publish.ts";
import { randomDigits } from "../lib/write-whole.ts";
import type { Line } from "../task/line.ts";
import { DRAFT_MARK } from "./ledger-name.ts";

/** The version that this release writes; it reads this one and older ones. */
export const LEDGER_VERSION = 2;

/** One line as it is in its file, line feed included. */
export function formatLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

const DISPENSABLE: ReadonlySet<Line["type"]> = new Set(["started", "waiting", "gone"]);

/**
 * Whether the reserve is released for a line. Without the others the request is not submitted again, and nothing is lost;
 * each is needed only until the next line.
 */
export function mayUseReserve({ type }: Line): boolean {
  return !DISPENSABLE.has(type);
}

/**
 * One part of a task, open for appending by the one process that created it. Every line is on disk, synced, when `record`
 * returns.
 */
export class TaskFile {
  readonly path: string;
  readonly #file: DiskFile;
  /** Whether the file's last line may be cut short, so that the next one must begin on a fresh line. */
  #tornTail: boolean;
  readonly #makeRoom: () => void;

  private constructor(path: string, file: DiskFile, tornTail: boolean, makeRoom: () => void) {
    noteTask();
    this.path = path;
    this.#file = file;
    this.#tornTail = tornTail;
    this.#makeRoom = makeRoom;
  }

  /**
   * Creates the file with its first line; creating it is the claim. The reserve is not released for this: on a full disk
   * nothing is submitted. @throws EEXIST, or the disk's error
   */
  static async create(path: string, first: Line, makeRoom: () => void): Promise<TaskFile> {
    try {
      return await TaskFile.createPart(path, first, makeRoom);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") removeIfPossible(path);
      throw error;
    }
  }

  /** As `create`, for a further part, which stays if its first line cannot be written: another one may follow it by then. */
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
   * As `create`, but completely or not at all: for a name that other processes read. They must not take a file that is
   * still being written for one that a dead process left.
   * @param isFree called with the draft once it is synced
   * @returns null if `isFree` returns false, or the name is taken
   */
  static async createWhole(
    path: string,
    first: Line,
    isFree: (draft: string) => Promise<boolean>,
    makeRoom: () => void,
  ): Promise<TaskFile | null> {
    const draft = `${path}${DRAFT_MARK}${randomDigits()}`;
    const file = await TaskFile.create(draft, first, makeRoom);
    try {
      const result = (await isFree(draft)) ? await publishOnce(draft, path) : "exists";
      if (result === "published") return new TaskFile(path, file.#file, false, makeRoom);
      file.close();
      return result === "copied" ? await TaskFile.reopen(path, makeRoom) : null;
    } catch (error) {
      file.closeIfPossible();
      throw error;
    } finally {
      removeIfPossible(draft);
    }
  }

  /** Opens a part that this process has created before. @throws ENOENT */
  static async reopen(path: string, makeRoom: () => void): Promise<TaskFile> {
    const file = DiskFile.openToAppend(path);
    try {
      const { size } = file;
      const torn = size > 0 && file.read(size - 1, 1)[0] !== 0x0a;
      return new TaskFile(path, file, torn, makeRoom);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Whether the file is still where it was created: nobody has ended the task, or put another file in its place. */
  isInPlace(): boolean {
    return this.#file.isAt(this.path);
  }

  /**
   * Appends a line and syncs it. On a full disk the reserve is released for it if it matters enough.
   * @param isVital whether it does; default: by its type
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
    this.#tornTail = false;
  }

  #write(line: Line): void {
    const text = `${this.#tornTail ? "\n" : ""}${formatLine(line)}`;
    this.#tornTail = true;
    this.#file.write(Buffer.from(text));
  }

  /**
   * Closes a part whose task is left unfinished. The line that says so is not synced: it matters only while this process is
   * alive. @param at ISO 8601
   */
  release(at: string): void {
    try {
      this.#write({ type: "released", at });
    } catch {
      // The disk refuses it: the task waits until this process ends.
    }
    this.#file.close();
  }

  close(): void {
    this.#file.close();
  }

  /** Closes a file after its last line; an error no longer matters. */
  closeIfPossible(): void {
    try {
      this.#file.close();
    } catch {
      // A descriptor is closed even if close reports an error.
    }
  }
}

/** Syncs a file of another process, whose last line may not be on the disk yet. Never throws. */
export async function syncIfPossible(path: string): Promise<void> {
  try {
    const file = DiskFile.openToRead(path);
    await file.sync().finally(() => file.close());
  } catch {
    // Taking the task reports what is wrong with the disk, or that the task is finished by now.
  }
}
