import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible, removeIfPresent } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import { isSameProcess, type ProcessIdentity, parseIdentity } from "../lib/processes.ts";
import { readPublished } from "../lib/publish.ts";
import { createAtomically } from "../lib/write-whole.ts";
import type { Ledger } from "../store/ledger.ts";
import { UnreadableRecordError, withStateFolderErrors } from "../store/store-errors.ts";
import { newTaskId } from "../task/task-id.ts";

const KEY_LIFETIME_MS = 7 * 24 * 3_600_000;

/** Minimum lifetime of the record of a call without a key. After its removal, a retry counts as a new call. */
const MIN_CALL_LIFETIME_MS = 24 * 3_600_000;

export interface CallRequest {
  key: string | null;
  digest: string;
  /** Whether the client's headers mark the request as a retry. */
  isRetry: boolean;
  /** Aborts when the client disconnects. null if the client does not wait for the image. */
  disconnected: AbortSignal | null;
}

export interface TaskIds {
  id: string;
  taskId: string;
}

/** Event of a client: the client waits, has disconnected, or has received its reply. */
type NoteType = "waits" | "left" | "delivered";

interface Note {
  type: NoteType;
  /** Milliseconds since the epoch. */
  at: number;
  by: ProcessIdentity;
}

export interface Call extends TaskIds {
  name: string;
  digest: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** Whether the call has an Idempotency-Key. If so, its task is completed even if no client waits. */
  hasKey: boolean;
  notes: readonly Note[];
}

/**
 * Records of clients' calls, one file for each call. The file contains the ids of the call's task before the task
 * begins, so that a repeated request gets the same task even after a crash.
 * Notes are appended without a sync, because a lost note only makes a reply count as not delivered.
 */
export class Calls {
  readonly #folder: string;
  readonly #ledger: Pick<Ledger, "newId" | "clock" | "processes">;
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(folder: string, ledger: Pick<Ledger, "newId" | "clock" | "processes">) {
    this.#folder = folder;
    this.#ledger = ledger;
  }

  async runInTurn<Result>({ key, digest }: CallRequest, work: () => Promise<Result>): Promise<Result> {
    const turnKey = key === null ? digest : keyName(key);
    const previous = this.#turns.get(turnKey) ?? Promise.resolve();
    const turn = previous.catch(() => {}).then(work);
    this.#turns.set(turnKey, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(turnKey) === turn) this.#turns.delete(turnKey);
    }
  }

  /**
   * Finds the calls that a request might repeat, by key or otherwise by digest, oldest first.
   * @throws StateFolderError, UnreadableRecordError
   */
  async findEarlier({ key, digest }: CallRequest): Promise<Call[]> {
    return this.#guarded(async () => {
      const names = key === null ? this.#namesWithDigest(digest) : [keyName(key)];
      const calls = (await Promise.all(names.map((name) => this.#read(name)))).filter(
        (call) => call !== null,
      );
      const now = this.#ledger.clock.now();
      const [current, expired] = [calls.filter(isCurrent), calls.filter((call) => !isCurrent(call))];
      for (const { name } of expired) removeIfPresent(this.#filePath(name));
      return current.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));

      function isCurrent({ hasKey, at }: Call): boolean {
        return !hasKey || now - at <= KEY_LIFETIME_MS;
      }
    });
  }

  /**
   * Records a new call durably. @returns null if another process was first @throws StateFolderError
   * @param isExclusive whether only one process can record an equal request at a time
   */
  create({ key, digest }: CallRequest, isExclusive: boolean): Promise<Call | null> {
    return this.#guarded(async () => {
      const at = this.#ledger.clock.now();
      const facts = { digest, id: this.#ledger.newId(), taskId: newTaskId(), at, hasKey: key !== null };
      const numbers = isExclusive ? this.#namesWithDigest(digest).map(callNumber) : [];
      const keylessName = `${digest}.${isExclusive ? Math.max(0, ...numbers) + 1 : facts.id}`;
      const name = key === null ? keylessName : keyName(key);
      const isNew = await createAtomically(this.#filePath(name), `${JSON.stringify(facts)}\n`, 0o600);
      return isNew ? { ...facts, name, notes: [] } : null;
    });
  }

  /** @param name comes from a task's file, so it is not trusted */
  async find(name: string): Promise<Call | null> {
    return CALL_NAME.test(name) ? this.#read(name).catch(() => null) : null;
  }

  note({ name }: Pick<Call, "name">, type: NoteType): void {
    try {
      const note = { type, at: this.#ledger.clock.now(), by: this.#ledger.processes.self };
      const file = DiskFile.openToAppend(this.#filePath(name));
      try {
        file.write(Buffer.from(`${JSON.stringify(note)}\n`));
      } finally {
        file.close();
      }
    } catch {}
  }

  /** Whether a client of the call waits for the reply of another running process. */
  isAwaitedElsewhere({ notes }: Call): boolean {
    const { processes } = this.#ledger;
    const others = notes.filter(({ by }) => !isSameProcess(by, processes.self));
    return others.some(({ by }) => {
      const processNotes = others.filter((note) => isSameProcess(note.by, by));
      const waitCount = processNotes.filter(({ type }) => type === "waits").length;
      return waitCount > processNotes.length - waitCount && processes.isAlive(by) !== false;
    });
  }

  /** Removes the record of a call, so that the next equal request is a new call. */
  forget({ name }: Pick<Call, "name">): void {
    removeIfPossible(this.#filePath(name));
  }

  /** Removes expired records, except records of unfinished tasks (`isOpen`). @throws the disk's error */
  async removeOld(repeatWindowMs: number, isOpen: (id: string) => boolean): Promise<void> {
    const now = this.#ledger.clock.now();
    for (const name of readdirSync(this.#folder)) {
      const call = CALL_NAME.test(name) ? await this.find(name) : null;
      if (call === null) continue;
      const lifetimeMs = call.hasKey ? KEY_LIFETIME_MS : MIN_CALL_LIFETIME_MS + repeatWindowMs;
      if (now - lastRequestMs(call) > lifetimeMs && !isOpen(call.id)) this.forget(call);
    }
  }

  #namesWithDigest(digest: string): string[] {
    return readdirSync(this.#folder).filter((name) => name.startsWith(`${digest}.`));
  }

  /**
   * Returns null if the file does not exist.
   * @throws UnreadableRecordError if the record is damaged, because its task might have been charged
   */
  async #read(name: string): Promise<Call | null> {
    const file = this.#filePath(name);
    let text: string;
    try {
      text = await readPublished(file, (read) => read.includes("\n"));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    }
    const [first, ...notes] = text.split("\n").map(jsonOrNull);
    if (isCallRecord(first)) return { ...first, name, notes: notes.flatMap(parseNote) };
    throw new UnreadableRecordError(file, "it is damaged", "so the task of this request is unknown");
  }

  #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    return withStateFolderErrors(this.#folder, "Nothing was sent.", action);
  }

  #filePath(name: string): string {
    return path.join(this.#folder, name);
  }
}

export function lastRequestMs({ at, notes }: Call): number {
  return Math.max(at, ...notes.map((note) => note.at));
}

export function isDelivered({ notes }: Call): boolean {
  return notes.some(({ type }) => type === "delivered");
}

/** Name of a record: the SHA-256 of the key, or the request's digest with the task's id or a number. */
const CALL_NAME = /^[0-9a-f]{64}(?:\.[\da-fT-]+)?$/;

function keyName(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function callNumber(name: string): number {
  return Number(/\.(\d+)$/.exec(name)?.[1] ?? 0);
}

function isCallRecord(json: unknown): json is Omit<Call, "name" | "notes"> {
  if (!isJsonObject(json)) return false;
  const { digest, id, taskId, at, hasKey } = json;
  return (
    [digest, id, taskId].every((text) => typeof text === "string") &&
    typeof at === "number" &&
    typeof hasKey === "boolean"
  );
}

function parseNote(json: unknown): Note[] {
  const { type, at, by } = fieldsOf(json);
  const identity = parseIdentity(by);
  const isNote = type === "waits" || type === "left" || type === "delivered";
  return isNote && typeof at === "number" && identity !== null ? [{ type, at, by: identity }] : [];
}

/** Returns a digest of a request's content, independent of the order of fields and the boundary of a form. */
export function contentDigest(
  method: string,
  pathname: string,
  fields: unknown,
  files: readonly string[] = [],
) {
  return createHash("sha256")
    .update(JSON.stringify([method, pathname, sortKeys(fields), files]))
    .digest("hex");
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sortKeys(member)]));
}
