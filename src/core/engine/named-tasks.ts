import type { Ledger } from "../../store/ledger.ts";
import type { Task } from "../../task/task.ts";

/** A task that the user has named: by its id, or by an image of it. */
export interface NamedTask {
  /** As the user named it; of an image, its task's id. */
  id: string;
  /** null if the ledger does not have it. */
  record: Task | null;
}

/** The tasks with these ids, each once. @throws UsageError for an id that fits several tasks */
export async function findNamed(
  ids: readonly string[],
  ledger: Pick<Ledger, "findByIds">,
): Promise<NamedTask[]> {
  const records = await ledger.findByIds(ids);
  return distinct(ids.map((id) => ({ id, record: records.get(id) ?? null })));
}

/** Each task once, however often, and by whatever beginning of its id, it was named. */
export function distinct(tasks: readonly NamedTask[]): NamedTask[] {
  const seen = new Set<string>();
  return tasks.filter(({ id, record }) => {
    const isNew = !seen.has(record?.id ?? id);
    seen.add(record?.id ?? id);
    return isNew;
  });
}
