import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { createExclusive, removeIfPresent, writeAll } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";
import { publishOnce } from "../lib/publish.ts";
import { DRAFT_MARK } from "./ledger-name.ts";
import type { TaskEvent } from "./task.ts";
import { formatLine } from "./task-lines.ts";

/**
 * A task's file, open for appending by the one process that owns it. Every record is on disk, synced, when
 * `record` returns.
 */
export class TaskFile {
  readonly path: string;
  readonly #handle: FileHandle;
  /** Whether the file's last line may be cut short, so that the next record must begin on a fresh one. */
  #tornTail: boolean;
  readonly #makeRoom: () => Promise<void>;

  private constructor(path: string, handle: FileHandle, tornTail: boolean, makeRoom: () => Promise<void>) {
    this.path = path;
    this.#handle = handle;
    this.#tornTail = tornTail;
    this.#makeRoom = makeRoom;
  }

  /**
   * Creates the file with its first record; that it did not exist is the claim. The reserve is not for this:
   * a disk that is full already is a reason not to buy. @throws EEXIST, or what the disk says
   */
  static async create(path: string, first: TaskEvent, makeRoom: () => Promise<void>): Promise<TaskFile> {
    const file = new TaskFile(path, await createExclusive(path, 0o600), false, makeRoom);
    try {
      await file.#append(first);
      return file;
    } catch (error) {
      await file.close().catch(() => {});
      await removeIfPresent(path).catch(() => {});
      throw error;
    }
  }

  /**
   * As `create`, but whole or not at all: for a name that other processes look at, who must never take a file
   * that is still being written for one that its process has left. @returns null where the name is taken
   */
  static async createWhole(
    path: string,
    first: TaskEvent,
    makeRoom: () => Promise<void>,
  ): Promise<TaskFile | null> {
    const draft = `${path}${DRAFT_MARK}${randomBytes(4).toString("hex")}`;
    const handle = (await TaskFile.create(draft, first, makeRoom)).#handle;
    try {
      const result = await publishOnce(draft, path);
      if (result === "published") return new TaskFile(path, handle, false, makeRoom);
      await handle.close();
      return result === "copied" ? await TaskFile.reopen(path, makeRoom) : null;
    } finally {
      await removeIfPresent(draft).catch(() => {});
    }
  }

  /** Opens the file of a task whose former owner is gone. @throws ENOENT */
  static async reopen(path: string, makeRoom: () => Promise<void>): Promise<TaskFile> {
    const handle = await open(path, constants.O_RDWR | constants.O_APPEND);
    try {
      // Whoever wrote the last record may have ended before it was synced, and what is done next relies on it.
      await handle.sync();
      const { size } = await handle.stat();
      const last = Buffer.alloc(1);
      if (size > 0) await handle.read(last, 0, 1, size - 1);
      return new TaskFile(path, handle, size > 0 && last[0] !== 0x0a, makeRoom);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Appends a record and waits until the disk has it. On a full disk the reserve is given up for it.
   * @throws the system's error where even that did not help
   */
  async record(event: TaskEvent): Promise<void> {
    try {
      await this.#append(event);
    } catch (error) {
      if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") throw error;
      await this.#makeRoom();
      await this.#append(event);
    }
  }

  async #append(event: TaskEvent): Promise<void> {
    const line = `${this.#tornTail ? "\n" : ""}${formatLine(event)}`;
    this.#tornTail = true;
    await writeAll(this.#handle, Buffer.from(line));
    await this.#handle.sync();
    this.#tornTail = false;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
