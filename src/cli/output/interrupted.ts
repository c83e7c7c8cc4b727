import { interruptedError } from "../../core/errors.ts";
import type { TaskReport } from "../../core/task/report.ts";
import type { Session } from "../session/session.ts";

const FIRST_IDS = 20;
/** In characters. A longer command would fill the screen with the ids of its tasks. */
const LONGEST_COMMAND = 600;

/** Whether a signal ended the wait for a task. */
export function isInterrupted({ error }: TaskReport): boolean {
  return error?.type === "interrupted";
}

/**
 * Names the tasks that a signal leaves unfinished as soon as it arrives: each of them may take its time to end.
 * @param left the tasks that are left, asked for at the signal
 * @param state what they are, after `3 tasks are`
 */
export function showAtSignal(left: () => readonly string[], session: Session, state: string): void {
  const { signal } = session.context;
  const show = () => void showInterrupted(left(), session, state);
  if (signal.aborted) show();
  else signal.addEventListener("abort", show, { once: true });
}

/** The first of them, how many there are, and where the rest is. */
async function showInterrupted(ids: readonly string[], session: Session, state: string): Promise<void> {
  if (ids.length === 0) return;
  const { signal } = session.context;
  const command = session.commandLine();
  const tasks = ids.length === 1 ? "1 task is" : `${ids.length} tasks are`;
  const more = ids.length - FIRST_IDS;
  await session.console.error([
    `${interruptedError(signal, "yes").message} ${tasks} ${state}:`,
    ...ids.slice(0, FIRST_IDS).map((id) => `  ${id}`),
    ...(more > 0 ? [`  and ${more} more, which imggen history --all lists`] : []),
    command.length > LONGEST_COMMAND
      ? "  To resume, run the same command again."
      : `  Resume with: ${command}`,
  ]);
}
