import { isSameRequest, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import { savedFilesOf } from "../task/lifecycle.ts";
import { type TaskRecord, taskIdOf } from "../task/record.ts";
import type { GenerationRequest } from "../task/request.ts";
import { digestsOf } from "../task/saved-file.ts";
import { IdPrefixes, mayStandForId } from "./id-prefix.ts";
import type { LedgerEntry } from "./ledger-entry.ts";
import { LedgerFiles } from "./ledger-files.ts";
import {
  fileTag,
  fileTagsOf,
  hasTag,
  idOfName,
  kindTag,
  requestTag,
  taskTag,
  taskTagOf,
  timeOfId,
} from "./ledger-name.ts";
import { Spending } from "./spending.ts";

/** More tasks would hardly improve the estimate of how long the next one takes. */
const MOST_OF_KIND = 50;
const FOLDERS_OF_KIND = 200;

/** The ledger as it is searched: by the names of its files, so that of a long history little is read. */
export class LedgerReader extends LedgerFiles {
  /** Sums of the account and the day that were asked for last. */
  #spending: { key: string; spending: Spending } | null = null;

  /** The newest task with this id, as `findEach` finds it. */
  async find(id: string): Promise<TaskRecord | null> {
    return (await this.findEach([id])).get(id) ?? null;
  }

  /**
   * The newest task with each of these ids, the service's or the ledger's own, whole or by a beginning of 6 characters
   * or more that no other id has. An id that the ledger lacks is left out. @throws UsageError if a beginning fits
   * several
   */
  async findEach(ids: readonly string[]): Promise<Map<string, TaskRecord>> {
    const found = await this.#findByWholeId(ids);
    const prefixes = new IdPrefixes(ids.filter((id) => !found.has(id) && mayStandForId(id)));
    if (prefixes.isEmpty) return found;
    for await (const entry of this.newestFirst()) if (entry.kind === "task") prefixes.note(entry.record);
    return new Map([...found, ...prefixes.found()]);
  }

  /** The newest task with this id, and no other whose id only begins so. */
  async findWhole(id: string): Promise<TaskRecord | null> {
    return (await this.#findByWholeId([id])).get(id) ?? null;
  }

  /** Passes once over the names of the ledger, so that only what may be meant is read. */
  async #findByWholeId(ids: readonly string[]): Promise<Map<string, TaskRecord>> {
    const found = new Map<string, TaskRecord>();
    const missing = new Set(ids);
    const tags = new Set(ids.map(taskTag));
    const isWanted = (name: string) => {
      const tag = taskTagOf(name);
      return (tag !== undefined && tags.has(tag)) || missing.has(idOfName(name) ?? "");
    };
    for await (const entry of this.entries(isWanted)) {
      if (entry.kind !== "task") continue;
      for (const each of [entry.record.id, taskIdOf(entry.record)])
        if (each !== null && missing.delete(each)) found.set(each, entry.record);
      if (missing.size === 0) break;
    }
    return found;
  }

  /** The newest task that a file with these bytes was saved from. @param sha256 in hex */
  async findByFile(sha256: string): Promise<TaskRecord | null> {
    return (await this.findByFiles(new Set([sha256]))).get(sha256) ?? null;
  }

  /** As `findByFile`, for many in one pass over the names of the ledger. What it lacks is left out. */
  async findByFiles(sha256s: ReadonlySet<string>): Promise<Map<string, TaskRecord>> {
    const tags = new Set([...sha256s].map(fileTag));
    const found = new Map<string, TaskRecord>();
    for await (const entry of this.entries((name) => fileTagsOf(name).some((tag) => tags.has(tag)))) {
      if (entry.kind !== "task") continue;
      for (const sha256 of savedFilesOf(entry.record.state).flatMap(digestsOf))
        if (sha256s.has(sha256) && !found.has(sha256)) found.set(sha256, entry.record);
      if (found.size === sha256s.size) break;
    }
    return found;
  }

  /**
   * Every task for the very same request of the same account, newest first.
   * @param sinceMs milliseconds since the epoch: no finished task that was begun earlier. Default: all
   * @param onOther called for files that are no tasks, or cannot be read
   */
  async *sameRequest(
    wanted: RequestIdentity,
    sinceMs?: number,
    onOther = (_entry: LedgerEntry) => {},
  ): AsyncGenerator<TaskRecord, undefined> {
    const tag = requestTag(wanted);
    const since = sinceMs === undefined ? "" : timeOfId(sinceMs);
    for await (const entry of this.entries((name) => hasTag(name, tag), since)) {
      if (entry.kind !== "task") onOther(entry);
      else if (isSameRequest(entry.record.intent, wanted)) yield entry.record;
    }
  }

  /** The latest finished tasks of one service, model and quality, oldest first; a few dozen at most. */
  async recentOfKind(
    request: Pick<GenerationRequest, "model" | "quality">,
    service: Pick<ServiceIdentity, "baseUrl">,
  ): Promise<TaskRecord[]> {
    const recent = await this.guarded(() =>
      this.done.recent(kindTag(request, service), MOST_OF_KIND, FOLDERS_OF_KIND),
    );
    const records = recent.flatMap((entry) => (entry.kind === "task" ? [entry.record] : []));
    return records
      .filter(
        ({ intent }) => intent.request.model === request.model && intent.request.quality === request.quality,
      )
      .reverse();
  }

  /**
   * What an account has been charged since a moment, or may have been: documented costs alone. It has every task
   * that was begun by now; one that was refused or withdrawn in the last seconds may still count.
   * @param sinceMs milliseconds since the epoch
   */
  async creditsSince(sinceMs: number, keyId: string): Promise<number> {
    const key = `${sinceMs} ${keyId}`;
    const current = this.#spending?.key === key ? this.#spending.spending : null;
    const readOpen = (name: string) => this.readOpen(name);
    const spending = current ?? new Spending(this.folder, readOpen, this.done, timeOfId(sinceMs), keyId);
    this.#spending = { key, spending };
    return this.guarded(() => spending.total(this.clock.now()));
  }

  /** As `creditsSince`, but reads the whole ledger again and so is exact. */
  async recountCreditsSince(sinceMs: number, keyId: string): Promise<number> {
    this.#spending = null;
    return this.creditsSince(sinceMs, keyId);
  }
}
