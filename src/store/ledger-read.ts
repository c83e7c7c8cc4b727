import { isSameRequest, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { digestsOf } from "../task/saved-file.ts";
import { savedFilesOf, type Task, taskIdOf } from "../task/task.ts";
import { IdPrefixes, mayStandForId } from "./id-prefix.ts";
import type { LedgerEntry, LedgerFiles } from "./ledger-files.ts";
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

// The ledger is searched by the names of its files, so that of a long history little is read.

/** More tasks would hardly improve the estimate of how long the next one takes. */
const MAX_OF_KIND = 50;
const FOLDERS_OF_KIND = 200;

/** Tasks, newest first. */
interface Entries {
  entries(wanted: (name: string) => boolean, since?: string): AsyncGenerator<LedgerEntry>;
}

/** The newest task with each of these ids. @param byPrefix whether a beginning of an id will do, if only one id has it */
export async function findEach(
  ids: readonly string[],
  ledger: Entries,
  byPrefix: boolean,
): Promise<Map<string, Task>> {
  const found = await findWhole(ids, ledger);
  if (!byPrefix) return found;
  const prefixes = new IdPrefixes(ids.filter((id) => !found.has(id) && mayStandForId(id)));
  if (prefixes.isEmpty) return found;
  for await (const entry of ledger.entries(() => true)) if (entry.kind === "task") prefixes.note(entry.task);
  return new Map([...found, ...prefixes.found()]);
}

/** Passes once over the names of the ledger, so that only what may be meant is read. */
async function findWhole(ids: readonly string[], ledger: Entries): Promise<Map<string, Task>> {
  const found = new Map<string, Task>();
  const missing = new Set(ids);
  const tags = new Set(ids.map(taskTag));
  const isWanted = (name: string) => {
    const tag = taskTagOf(name);
    return (tag !== undefined && tags.has(tag)) || missing.has(idOfName(name) ?? "");
  };
  for await (const entry of ledger.entries(isWanted)) {
    if (entry.kind !== "task") continue;
    for (const each of [entry.task.id, taskIdOf(entry.task)])
      if (each !== null && missing.delete(each)) found.set(each, entry.task);
    if (missing.size === 0) break;
  }
  return found;
}

/** The newest tasks that files with these bytes were saved from, in one pass over the names of the ledger. */
export async function findFiles(sha256s: ReadonlySet<string>, ledger: Entries): Promise<Map<string, Task>> {
  const tags = new Set([...sha256s].map(fileTag));
  const found = new Map<string, Task>();
  for await (const entry of ledger.entries((name) => fileTagsOf(name).some((tag) => tags.has(tag)))) {
    if (entry.kind !== "task") continue;
    for (const sha256 of savedFilesOf(entry.task).flatMap(digestsOf))
      if (sha256s.has(sha256) && !found.has(sha256)) found.set(sha256, entry.task);
    if (found.size === sha256s.size) break;
  }
  return found;
}

/** Every task for the very same request of the same account, newest first. */
export async function* sameRequest(
  wanted: RequestIdentity,
  ledger: Entries,
  sinceMs?: number,
  onOther = (_entry: LedgerEntry) => {},
): AsyncGenerator<Task, undefined> {
  const tag = requestTag(wanted);
  const since = sinceMs === undefined ? "" : timeOfId(sinceMs);
  for await (const entry of ledger.entries((name) => hasTag(name, tag), since)) {
    if (entry.kind !== "task") onOther(entry);
    else if (isSameRequest(entry.task.intent, wanted)) yield entry.task;
  }
}

/** The latest finished tasks of one service, model and quality, oldest first. */
export async function recentOfKind(
  request: Pick<GenerationRequest, "model" | "quality">,
  service: Pick<ServiceIdentity, "baseUrl">,
  files: Pick<LedgerFiles, "recentDone">,
): Promise<Task[]> {
  const tag = kindTag(request, service);
  const recent = await files.recentDone((name) => hasTag(name, tag), MAX_OF_KIND, FOLDERS_OF_KIND);
  const tasks = recent.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  return tasks
    .filter(
      ({ intent }) => intent.request.model === request.model && intent.request.quality === request.quality,
    )
    .reverse();
}
