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

/** Lifetime of an Idempotency-Key, in milliseconds. */
const KEY_MS = 7 * 24 * 3_600_000;

/** Minimum lifetime of the record of a call without a key, in milliseconds: longer than any retry is looked up. */
const CALL_MS = 24 * 3_600_000;

/** A client's request, as far as it decides to which call it belongs. */
export interface CallRequest {
  /** The Idempotency-Key; null for none. */
  key: string | null;
  /** Of method, path and content. */
  digest: string;
  /** Whether the client says that an earlier attempt of the same call failed for it. */
  isRetry: boolean;
  /** Aborts when the client hangs up; null if it does not wait for the image. */
  gone: AbortSignal | null;
}

/** The names of a task that are given before it is begun. */
export interface TaskNames {
  /** The ledger's. */
  id: string;
  taskId: string;
}

/** A client waits in a process, has hung up there, or has its answer. */
type NoteType = "waits" | "left" | "delivered";

interface Note {
  type: NoteType;
  /** Milliseconds since the epoch. */
  at: number;
  by: ProcessIdentity;
}

/** One call of a client, however often it sends it: one task. */
export interface Call extends TaskNames {
  /** Name of its record. */
  name: string;
  digest: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** Whether it has an Idempotency-Key, which promises that its task is done, whether the client waits or not. */
  hasKey: boolean;
  notes: readonly Note[];
}

/**
 * The calls of clients: a file for each, created exclusively. It names the task before there is one, so that whatever ends
 * in between, the next request of the call finds the task, or begins the very same one. Then follow lines about its client,
 * not synced: if one is lost, an answer counts as not delivered.
 */
export class Calls {
  readonly #folder: string;
  readonly #ledger: Pick<Ledger, "newId" | "clock" | "processes">;
  /** Requests of one call take turns. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(folder: string, ledger: Pick<Ledger, "newId" | "clock" | "processes">) {
    this.#folder = folder;
    this.#ledger = ledger;
  }

  /** Runs one request at a time of those that may be the same call. */
  async inTurn<Result>({ key, digest }: CallRequest, work: () => Promise<Result>): Promise<Result> {
    const group = key === null ? digest : keyName(key);
    const before = this.#turns.get(group) ?? Promise.resolve();
    const turn = before.catch(() => {}).then(work);
    this.#turns.set(group, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(group) === turn) this.#turns.delete(group);
    }
  }

  /**
   * The calls to which a request may belong, oldest first: that of its key, or those of its digest without a key.
   * @throws StateFolderError, UnreadableRecordError
   */
  async earlier({ key, digest }: CallRequest): Promise<Call[]> {
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
        return !hasKey || now - at <= KEY_MS;
      }
    });
  }

  /**
   * Records a new call: it is on disk when this returns.
   * @param isAlone whether it must not be beside another one that a process makes of an equal request at the same time
   * @returns null if another process was first @throws StateFolderError
   */
  create({ key, digest }: CallRequest, isAlone: boolean): Promise<Call | null> {
    return this.#guarded(async () => {
      const at = this.#ledger.clock.now();
      const facts = { digest, id: this.#ledger.newId(), taskId: newTaskId(), at, hasKey: key !== null };
      const numbers = isAlone ? this.#namesWithDigest(digest).map(callNumber) : [];
      const keylessName = `${digest}.${isAlone ? Math.max(0, ...numbers) + 1 : facts.id}`;
      const name = key === null ? keylessName : keyName(key);
      const isNew = await createAtomically(this.#filePath(name), `${JSON.stringify(facts)}\n`, 0o600);
      return isNew ? { ...facts, name, notes: [] } : null;
    });
  }

  /** The call of this name; null if there is none, or its record cannot be read. @param name from a task's file */
  async find(name: string): Promise<Call | null> {
    return NAME.test(name) ? this.#read(name).catch(() => null) : null;
  }

  /** Notes what has become of a client. Never throws. */
  note({ name }: Pick<Call, "name">, type: NoteType): void {
    try {
      const note = { type, at: this.#ledger.clock.now(), by: this.#ledger.processes.self };
      const file = DiskFile.openToAppend(this.#filePath(name));
      try {
        file.write(Buffer.from(`${JSON.stringify(note)}\n`));
      } finally {
        file.close();
      }
    } catch {
      // The disk is full, or the call is forgotten.
    }
  }

  /** Whether a client of a call waits in another process that lives. */
  waitsElsewhere({ notes }: Call): boolean {
    const { processes } = this.#ledger;
    const others = notes.filter(({ by }) => !isSameProcess(by, processes.self));
    return others.some(({ by }) => {
      const itsNotes = others.filter((note) => isSameProcess(note.by, by));
      const waitCount = itsNotes.filter(({ type }) => type === "waits").length;
      return waitCount > itsNotes.length - waitCount && processes.isAlive(by) !== false;
    });
  }

  /** Forgets a call for which nothing was sent: the next request of it is a new one. */
  forget({ name }: Pick<Call, "name">): void {
    removeIfPossible(this.#filePath(name));
  }

  /** Removes old records. @param isOpen whether a task is still to be done @throws the disk's error */
  async removeOld(onceMs: number, isOpen: (id: string) => boolean): Promise<void> {
    const now = this.#ledger.clock.now();
    for (const name of readdirSync(this.#folder)) {
      const call = NAME.test(name) ? await this.find(name) : null;
      if (call === null) continue;
      const keptMs = call.hasKey ? KEY_MS : CALL_MS + onceMs;
      if (now - lastRequestMs(call) > keptMs && !isOpen(call.id)) this.forget(call);
    }
  }

  #namesWithDigest(digest: string): string[] {
    return readdirSync(this.#folder).filter((name) => name.startsWith(`${digest}.`));
  }

  /** @returns null if there is no such file @throws UnreadableRecordError: its task may be charged already */
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
    if (isFacts(first)) return { ...first, name, notes: notes.flatMap(noteIn) };
    throw new UnreadableRecordError(file, "it is damaged", "so the task of this request is not known");
  }

  #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    return withStateFolderErrors(this.#folder, "Nothing was sent.", action);
  }

  #filePath(name: string): string {
    return path.join(this.#folder, name);
  }
}

/** Time of a call or its last retry, in milliseconds since the epoch. */
export function lastRequestMs({ at, notes }: Call): number {
  return Math.max(at, ...notes.map((note) => note.at));
}

export function isDelivered({ notes }: Call): boolean {
  return notes.some(({ type }) => type === "delivered");
}

/** SHA-256 of a key; or a digest, and the id of the task or a number. */
const NAME = /^[0-9a-f]{64}(?:\.[\da-fT-]+)?$/;

/** A key is any text, and no name of a file. */
function keyName(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function callNumber(name: string): number {
  return Number(/\.(\d+)$/.exec(name)?.[1] ?? 0);
}

function isFacts(json: unknown): json is Omit<Call, "name" | "notes"> {
  if (!isJsonObject(json)) return false;
  const { digest, id, taskId, at, hasKey } = json;
  return (
    [digest, id, taskId].every((text) => typeof text === "string") &&
    typeof at === "number" &&
    typeof hasKey === "boolean"
  );
}

/** @returns none for a line that a crash has cut short */
function noteIn(json: unknown): Note[] {
  const { type, at, by } = fieldsOf(json);
  const identity = parseIdentity(by);
  const isNote = type === "waits" || type === "left" || type === "delivered";
  return isNote && typeof at === "number" && identity !== null ? [{ type, at, by: identity }] : [];
}

/** The digest of a request's content: of equal ones whatever the order of their fields, and the boundary of a form. */
export function contentDigest(
  method: string,
  pathname: string,
  fields: unknown,
  files: readonly string[] = [],
) {
  return createHash("sha256")
    .update(JSON.stringify([method, pathname, sorted(fields), files]))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]));
}
