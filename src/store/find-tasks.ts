import type { TaskRecord } from "../task/record.ts";
import { digestsOf } from "../task/saved-file.ts";
import { IdPrefixes, mayStandForId } from "./id-prefix.ts";
import type { LedgerEntry } from "./ledger-entry.ts";
import { fileTag, fileTagsOf, idOfName, taskTag, taskTagOf } from "./ledger-name.ts";

/** The entries of a ledger, newest first; of the finished tasks only those whose names are wanted. */
export type EntriesNewestFirst = (wanted: (name: string) => boolean) => AsyncIterable<LedgerEntry>;

/** Finds tasks by their ids, or the beginnings of them. @throws UsageError if a beginning fits several */
export async function findTasks(
  ids: readonly string[],
  entries: EntriesNewestFirst,
): Promise<Map<string, TaskRecord>> {
  const found = await findByWholeId(ids, entries);
  const prefixes = new IdPrefixes(ids.filter((id) => !found.has(id) && mayStandForId(id)));
  if (prefixes.isEmpty) return found;
  for await (const entry of entries(() => true)) if (entry.kind === "task") prefixes.note(entry.record);
  return new Map([...found, ...prefixes.found()]);
}

/** In one pass over the names of the ledger, so that only what may be meant is read. */
async function findByWholeId(
  ids: readonly string[],
  entries: EntriesNewestFirst,
): Promise<Map<string, TaskRecord>> {
  const found = new Map<string, TaskRecord>();
  const missing = new Set(ids);
  const tags = new Set(ids.map(taskTag));
  const isWanted = (name: string) => {
    const tag = taskTagOf(name);
    return (tag !== undefined && tags.has(tag)) || missing.has(idOfName(name) ?? "");
  };
  for await (const entry of entries(isWanted)) {
    if (entry.kind !== "task") continue;
    const { id, state } = entry.record;
    for (const each of "taskId" in state ? [id, state.taskId] : [id])
      if (missing.delete(each)) found.set(each, entry.record);
    if (missing.size === 0) break;
  }
  return found;
}

/** Finds the newest task that saved each file, in one pass over the names of the ledger. @param sha256s in hex */
export async function findTasksOfFiles(
  sha256s: ReadonlySet<string>,
  entries: EntriesNewestFirst,
): Promise<Map<string, TaskRecord>> {
  const tags = new Set([...sha256s].map(fileTag));
  const found = new Map<string, TaskRecord>();
  for await (const entry of entries((name) => fileTagsOf(name).some((tag) => tags.has(tag)))) {
    if (entry.kind !== "task" || entry.record.state.name !== "saved") continue;
    for (const sha256 of entry.record.state.files.flatMap(digestsOf))
      if (sha256s.has(sha256) && !found.has(sha256)) found.set(sha256, entry.record);
  }
  return found;
}
