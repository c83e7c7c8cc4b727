// Separate from `task.ts`, so that names of files do not load the whole task.
const CHARACTERS = 8;

/**
 * The short id in history and image names, which every command accepts: the last letters and digits, where ids differ
 * most.
 */
export function shortTaskId(id: string): string {
  return id.replace(/[^A-Za-z0-9]/g, "").slice(-CHARACTERS) || "task";
}

/** The short ids of several tasks; whole ids if two short ones are the same. */
export function shortTaskIds(ids: readonly string[]): string[] {
  const idsByShortId = new Map<string, Set<string>>();
  for (const id of ids)
    idsByShortId.set(shortTaskId(id), (idsByShortId.get(shortTaskId(id)) ?? new Set()).add(id));
  return ids.map((id) => (idsByShortId.get(shortTaskId(id))?.size === 1 && id !== "" ? shortTaskId(id) : id));
}
