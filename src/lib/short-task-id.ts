// Separate from `task.ts`, so that code for file names does not load the code for tasks.
const CHARACTERS = 8;

/** Returns the end of an id, where ids differ most. Every command accepts this short id. */
export function shortTaskId(id: string): string {
  return id.replace(/[^A-Za-z0-9]/g, "").slice(-CHARACTERS) || "task";
}

/** Uses complete ids for tasks whose short ids are equal. */
export function shortTaskIds(ids: readonly string[]): string[] {
  const idsByShortId = new Map<string, Set<string>>();
  for (const id of ids)
    idsByShortId.set(shortTaskId(id), (idsByShortId.get(shortTaskId(id)) ?? new Set()).add(id));
  return ids.map((id) => (idsByShortId.get(shortTaskId(id))?.size === 1 && id !== "" ? shortTaskId(id) : id));
}
