// Apart from the record, which takes along all that may happen to a task: names of files need none of it.
const CHARACTERS = 8;

/**
 * What history and the names of a task's images have of its id, and what every command takes for it: its last letters
 * and digits, where ids differ most.
 */
export function shortTaskId(id: string): string {
  return id.replace(/[^A-Za-z0-9]/g, "").slice(-CHARACTERS) || "task";
}

/** The short ids of several tasks; whole ids where two of them would be the same. */
export function shortTaskIds(ids: readonly string[]): string[] {
  const of = new Map<string, Set<string>>();
  for (const id of ids) of.set(shortTaskId(id), (of.get(shortTaskId(id)) ?? new Set()).add(id));
  return ids.map((id) => (of.get(shortTaskId(id))?.size === 1 && id !== "" ? shortTaskId(id) : id));
}
