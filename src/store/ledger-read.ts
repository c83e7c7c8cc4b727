import { isSameRequest, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { fileDigests } from "../task/saved-file.ts";
import { getSavedFiles, getTaskId, type Task } from "../task/task.ts";
import { IdPrefixes, mayStandForId } from "./id-prefix.ts";
import type { LedgerEntry, LedgerFiles } from "./ledger-files.ts";
import {
  fileTag,
  findFileTags,
  findTaskTag,
  hasTag,
  idTime,
  kindTag,
  parseTaskName,
  requestTag,
  taskTag,
} from "./ledger-name.ts";

// The ledger is searched by file names, so that little of a long history is read.

/** More tasks would hardly improve the estimated duration. */
const MAX_RECENT_TASKS = 50;
const MAX_RECENT_FOLDERS = 200;

/** Tasks, newest first. */
interface Entries {
  entries(isWanted: (name: string) => boolean, since?: string): AsyncGenerator<LedgerEntry>;
}

/**
 * The newest task with each of these ids.
 * @param byPrefix whether unique prefixes count as ids
 */
export async function findEach(
  ids: readonly string[],
  ledger: Entries,
  byPrefix: boolean,
): Promise<Map<string, Task>> {
  const tasks = await findWhole(ids, ledger);
  if (!byPrefix) return tasks;
  const prefixes = new IdPrefixes(ids.filter((id) => !tasks.has(id) && mayStandForId(id)));
  if (prefixes.isEmpty) return tasks;
  for await (const entry of ledger.entries(() => true)) if (entry.kind === "task") prefixes.add(entry.task);
  return new Map([...tasks, ...prefixes.resolve()]);
}

/** One pass over the names of the ledger; reads only candidates. */
async function findWhole(ids: readonly string[], ledger: Entries): Promise<Map<string, Task>> {
  const tasks = new Map<string, Task>();
  const missing = new Set(ids);
  const tags = new Set(ids.map(taskTag));
  const isWanted = (name: string) => {
    const tag = findTaskTag(name);
    return (tag !== undefined && tags.has(tag)) || missing.has(parseTaskName(name) ?? "");
  };
  for await (const entry of ledger.entries(isWanted)) {
    if (entry.kind !== "task") continue;
    for (const each of [entry.task.id, getTaskId(entry.task)])
      if (each !== null && missing.delete(each)) tasks.set(each, entry.task);
    if (missing.size === 0) break;
  }
  return tasks;
}

/** The newest tasks of files with these digests, in one pass over the names of the ledger. */
export async function findFiles(sha256s: ReadonlySet<string>, ledger: Entries): Promise<Map<string, Task>> {
  const tags = new Set([...sha256s].map(fileTag));
  const tasks = new Map<string, Task>();
  for await (const entry of ledger.entries((name) => findFileTags(name).some((tag) => tags.has(tag)))) {
    if (entry.kind !== "task") continue;
    for (const sha256 of getSavedFiles(entry.task).flatMap(fileDigests))
      if (sha256s.has(sha256) && !tasks.has(sha256)) tasks.set(sha256, entry.task);
    if (tasks.size === sha256s.size) break;
  }
  return tasks;
}

/** All tasks for the same request of the same account, newest first. */
export async function* sameRequest(
  identity: RequestIdentity,
  ledger: Entries,
  sinceMs?: number,
  onOther = (_entry: LedgerEntry) => {},
): AsyncGenerator<Task, undefined> {
  const tag = requestTag(identity);
  const since = sinceMs === undefined ? "" : idTime(sinceMs);
  for await (const entry of ledger.entries((name) => hasTag(name, tag), since)) {
    if (entry.kind !== "task") onOther(entry);
    else if (isSameRequest(entry.task.intent, identity)) yield entry.task;
  }
}

/** The latest finished tasks of one service, model and quality, oldest first. */
export async function recentOfKind(
  request: Pick<GenerationRequest, "model" | "quality">,
  service: Pick<ServiceIdentity, "baseUrl">,
  files: Pick<LedgerFiles, "recentDone">,
): Promise<Task[]> {
  const tag = kindTag(request, service);
  const recent = await files.recentDone((name) => hasTag(name, tag), MAX_RECENT_TASKS, MAX_RECENT_FOLDERS);
  const tasks = recent.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  return tasks
    .filter(
      ({ intent }) => intent.request.model === request.model && intent.request.quality === request.quality,
    )
    .reverse();
}
