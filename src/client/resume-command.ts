import { shellWord } from "../lib/shell-word.ts";

/** The command that picks a task up, ready to paste into a shell, whatever the id is made of. */
export function resumeCommand(taskId: string): string {
  return `imggen resume ${taskId.startsWith("-") ? "-- " : ""}${shellWord(taskId)}`;
}
