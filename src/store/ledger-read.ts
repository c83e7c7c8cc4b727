import { isSameRequest, type RequestIdentity, type ServiceIdentity } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { fileDigests } from "../task/saved-file.ts";
import { getSavedFiles, getTaskId, type Task } from "../task/task.ts";
import { IdPrefixes, mayBePrefix } from "./id-prefix.ts";
import type { LedgerEntry, LedgerFiles } from "./ledger-files.ts";
import {
  durationTag,
  fileTag,
  findFileTags,
  findTaskTag,
  hasTag,
  idTime,
  parseTaskName,
  requestTag,
  taskTag,
} from "./ledger-name.ts";

// Searches compare tags in file names, so that only files of possible matches are read.

/** Maximum number of tasks for an estimate of a duration. More tasks would hardly improve it. */
const MAX_RECENT_TASKS = 50;
const MAX_RECENT_FOLDERS = 200;

interface TaskSource {
  entries(isWanted: (name: string) => boolean, since?: string): AsyncGenerator<LedgerEntry>;
}

/** @param byPrefix whether a unique prefix of an id also finds the task */
export async function findByIds(
  ids: readonly string[],
  ledger: TaskSource,
  byPrefix: boolean,
): Promise<Map<string, Task>> {
  const tasks = await findExact(ids, ledger);
  if (!byPrefix) return tasks;
  const prefixes = new IdPrefixes(ids.filter((id) => !tasks.has(id) && mayBePrefix(id)));
  if (prefixes.isEmpty) return tasks;
  for await (const entry of ledger.entries(() => true)) if (entry.kind === "task") prefixes.add(entry.task);
  return new Map([...tasks, ...prefixes.resolve()]);
}

async function findExact(ids: readonly string[], ledger: TaskSource): Promise<Map<string, Task>> {
  const tasks = new Map<string, Task>();
  const missing = new Set(ids);
  const tags = new Set(ids.map(taskTag));
  const isWanted = (name: string) => {
    const tag = findTaskTag(name);
    return (tag !== undefined && tags.has(tag)) || missing.has(parseTaskName(name) ?? "");
  };
  for await (const entry of ledger.entries(isWanted)) {
    if (entry.kind !== "task") continue;
    for (const id of [entry.task.id, getTaskId(entry.task)])
      if (id !== null && missing.delete(id)) tasks.set(id, entry.task);
    if (missing.size === 0) break;
  }
  return tasks;
}

export async function findByFiles(
  sha256s: ReadonlySet<string>,
  ledger: TaskSource,
): Promise<Map<string, Task>> {
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

export async function* findSameRequest(
  identity: RequestIdentity,
  ledger: TaskSource,
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

export async function recentSimilarTasks(
  request: Pick<GenerationRequest, "model" | "quality">,
  service: Pick<ServiceIdentity, "baseUrl">,
  files: Pick<LedgerFiles, "recentDone">,
): Promise<Task[]> {
  const tag = durationTag(request, service);
  const recent = await files.recentDone((name) => hasTag(name, tag), MAX_RECENT_TASKS, MAX_RECENT_FOLDERS);
  const tasks = recent.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  return tasks
    .filter(
      ({ intent }) => intent.request.model === request.model && intent.request.quality === request.quality,
    )
    .reverse();
}
