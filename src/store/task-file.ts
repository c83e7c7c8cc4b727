import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { noteTask } from "../lib/error-types.ts";
import { publishOnce } from "../lib/publish.ts";
import { randomDigits } from "../lib/write-whole.ts";
import type { TaskEvent } from "../task/lifecycle.ts";
import { DRAFT_MARK } from "./ledger-name.ts";

/** The version that this release writes; it reads this one and older ones. */
export const LEDGER_VERSION = 1;

/** One event as a line of its file, line feed included. */
export function formatLine(taskEvent: TaskEvent): string {
  return `${JSON.stringify(taskEvent)}\n`;
}

const CAN_DO_WITHOUT: ReadonlySet<TaskEvent["type"]> = new Set(["rate_limited", "submitting"]);

/**
 * Whether the reserve is released for a record. Without the others the request is not submitted again, and nothing is
 * lost; each is needed only until the next record.
 */
export function mayUseReserve({ type }: TaskEvent): boolean {
  return !CAN_DO_WITHOUT.has(type);
}

/**
 * A task's file, open for appending by the one process that owns it. Every record is on disk, synced, when
 * `record` returns.
 */
export class TaskFile {
  readonly path: string;
  readonly #file: DiskFile;
  /** Whether the file's last line may be cut short, so that the next record must begin on a fresh one. */
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
   * Creates the file with its first record; creating it is the claim. The reserve is not released for this: on a full
   * disk nothing is submitted. @throws EEXIST, or the disk's error
   */
  static async create(path: string, first: TaskEvent, makeRoom: () => void): Promise<TaskFile> {
    const file = new TaskFile(path, DiskFile.createExclusive(path, 0o600), false, makeRoom);
    try {
      await file.#append(first);
      return file;
    } catch (error) {
      file.closeIfPossible();
      removeIfPossible(path);
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
    first: TaskEvent,
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

  /** Opens the file of a task whose former owner is gone. @throws ENOENT */
  static async reopen(path: string, makeRoom: () => void): Promise<TaskFile> {
    const file = DiskFile.openToAppend(path);
    try {
      // The process that wrote the last record may have ended before it was synced, and the next step relies on it.
      await file.sync();
      const { size } = file;
      const torn = size > 0 && file.read(size - 1, 1)[0] !== 0x0a;
      return new TaskFile(path, file, torn, makeRoom);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Syncs a task's file without claiming the task. Never throws. */
  static async syncIfPossible(path: string): Promise<void> {
    try {
      const file = DiskFile.openToRead(path);
      await file.sync().finally(() => file.close());
    } catch {
      // Claiming the task reports what is wrong with the disk, or that the task is finished by now.
    }
  }

  /**
   * Appends a record and syncs it. On a full disk the reserve is released for it if the record matters enough.
   * @throws the system's error if even that did not help
   */
  async record(event: TaskEvent): Promise<void> {
    try {
      await this.#append(event);
    } catch (error) {
      const isFull = errorCode(error) === "ENOSPC" || errorCode(error) === "EDQUOT";
      if (!isFull || !mayUseReserve(event)) throw error;
      this.#makeRoom();
      await this.#append(event);
    }
  }

  async #append(event: TaskEvent): Promise<void> {
    this.#write(event);
    await this.#file.sync();
    this.#tornTail = false;
  }

  #write(event: TaskEvent): void {
    const line = `${this.#tornTail ? "\n" : ""}${formatLine(event)}`;
    this.#tornTail = true;
    this.#file.write(Buffer.from(line));
  }

  /**
   * Closes the file of a task that this process began and leaves unfinished. The record of it is not synced: it matters
   * only while this process is alive. @param at ISO 8601
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

  /** Closes a file after its last record; an error no longer matters. */
  closeIfPossible(): void {
    try {
      this.#file.close();
    } catch {
      // A descriptor is closed even where close reports an error.
    }
  }
}
