const CHARACTERS = 8;

/** What the names of a task's images have of its id: its last letters and digits, where ids differ most. */
export function shortTaskId(taskId: string): string {
  return taskId.replace(/[^A-Za-z0-9]/g, "").slice(-CHARACTERS) || "task";
}
