import { createHash } from "node:crypto";
import path from "node:path";
import { removeIfPossible, removeIfPresent, removeOldFiles } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { isJsonObject, jsonOrNull } from "../lib/json.ts";
import { readPublished } from "../lib/publish.ts";
import { createWhole } from "../lib/write-whole.ts";
import type { Ledger } from "../store/ledger.ts";
import { UnreadableRecordError, usingStateFolder } from "../store/store-errors.ts";
import { newTaskId } from "../task/task-id.ts";

/** How long a key stands for the same task, in milliseconds. */
const KEPT_MS = 7 * 24 * 3_600_000;

/** The names of a task that are given before it is begun. */
export interface TaskNames {
  /** The ledger's. */
  id: string;
  taskId: string;
}

interface KnownKey extends TaskNames {
  /** Digest of what the key was first used for. */
  digest: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/**
 * Idempotency keys of clients: a file for each, created exclusively. It names the task before there is one, so that
 * whatever ends in between, the next request with the key finds the task, or begins the very same one.
 */
export class IdempotencyKeys {
  readonly #folder: string;
  readonly #ledger: Pick<Ledger, "newId" | "clock">;
  /** Requests with the same key take turns. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(folder: string, ledger: Pick<Ledger, "newId" | "clock">) {
    this.#folder = folder;
    this.#ledger = ledger;
  }

  /** Runs one request with this key at a time. */
  async inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#turns.get(key) ?? Promise.resolve();
    const turn = before.catch(() => {}).then(work);
    this.#turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    }
  }

  /**
   * The task that a key stands for: new names, which are on disk when this returns, unless the key is known.
   * @throws StateFolderError, UnreadableRecordError
   */
  claim(key: string, digest: string): Promise<{ entry: KnownKey; isNew: boolean }> {
    return usingStateFolder(this.#folder, "Nothing was sent.", () => this.#claim(key, digest));
  }

  async #claim(key: string, digest: string): Promise<{ entry: KnownKey; isNew: boolean }> {
    const file = this.#fileOf(key);
    const now = this.#ledger.clock.now();
    const before = await read(file);
    if (before !== null && now - before.at <= KEPT_MS) return { entry: before, isNew: false };
    if (before !== null) removeIfPresent(file);
    const entry = { digest, id: this.#ledger.newId(), taskId: newTaskId(), at: now };
    const isNew = await createWhole(file, JSON.stringify(entry), 0o600);
    return isNew ? { entry, isNew } : this.#claim(key, digest);
  }

  /** Forgets a key for which nothing was begun. */
  forget(key: string): void {
    removeIfPossible(this.#fileOf(key));
  }

  /** Removes expired keys. @throws the disk's error */
  removeOld(): void {
    removeOldFiles(this.#folder, this.#ledger.clock.now() - KEPT_MS);
  }

  /** A key is any text, and no name of a file. */
  #fileOf(key: string): string {
    return path.join(this.#folder, createHash("sha256").update(key).digest("hex"));
  }
}

/** @returns null if there is no such file @throws UnreadableRecordError: its task may be charged already */
async function read(file: string): Promise<KnownKey | null> {
  let text: string;
  try {
    text = await readPublished(file, (text) => jsonOrNull(text) !== null);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  const json = jsonOrNull(text);
  if (isKnownKey(json)) return json;
  throw new UnreadableRecordError(file, "it is damaged", "so the task of this Idempotency-Key is not known");
}

function isKnownKey(json: unknown): json is KnownKey {
  if (!isJsonObject(json)) return false;
  const { digest, id, taskId, at } = json;
  return [digest, id, taskId].every((text) => typeof text === "string") && typeof at === "number";
}
