import type { Ledger } from "../../store/ledger.ts";
import type { Task } from "../../task/task.ts";

/** A task that the user named by its id or by one of its images. */
export interface NamedTask {
  /** Id as typed by the user. For an image, the id of its task. */
  id: string;
  record: Task | null;
}

/** Returns the tasks with these ids, without duplicates. @throws UsageError for an id prefix that fits several tasks */
export async function findNamed(
  ids: readonly string[],
  ledger: Pick<Ledger, "findByIds">,
): Promise<NamedTask[]> {
  const records = await ledger.findByIds(ids);
  return distinctTasks(ids.map((id) => ({ id, record: records.get(id) ?? null })));
}

/** Removes repeated tasks, even if the user typed different prefixes of one id. */
export function distinctTasks(tasks: readonly NamedTask[]): NamedTask[] {
  const seen = new Set<string>();
  return tasks.filter(({ id, record }) => {
    const isNew = !seen.has(record?.id ?? id);
    seen.add(record?.id ?? id);
    return isNew;
  });
}
