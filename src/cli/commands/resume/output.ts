import { describeFailure } from "../../../client/failure.ts";
import { failureJson, reportJson } from "../../../client/report-json.ts";
import { describeUnreadable, type UnreadableEntry } from "../../../client/unreadable-entries.ts";
import { interruption } from "../../../core/errors.ts";
import type { TaskReport } from "../../../core/task/report.ts";
import type { Session } from "../../app/session.ts";

/** The reports of the tasks, and the files that cannot be read. */
export interface Resumed {
  reports: TaskReport[];
  /** Damaged, or of a newer version: each may well be a charged task. */
  unreadable: UnreadableEntry[];
}

const MOST_IDS = 100;
const FIRST_IDS = 20;

/** Whether a signal ended the wait for a task. */
export function isInterrupted({ error }: TaskReport): boolean {
  return error?.type === "interrupted";
}

/** What a script gets of a `resume` of several tasks. */
export function resumedJson({ reports, unreadable }: Resumed, exitCode: number, session: Session): object {
  const files = unreadable.map((entry) => ({ file: entry.file, message: describeUnreadable(entry) }));
  const rest = files.length > 0 ? { unreadable: files } : {};
  const interrupted = reports.filter(isInterrupted);
  if (interrupted.length === 0)
    return { ok: exitCode === 0, tasks: reports.map((report) => reportJson(report)), ...rest };
  const shown = interrupted.slice(0, MOST_IDS);
  const ended = reports.filter((report) => !isInterrupted(report));
  const resume = session.commandLine();
  const failure = describeFailure(interruption(session.context.signal, "yes"));
  return {
    ...failureJson({ ...failure, hint: `Resume with: ${resume}`, resume }),
    tasks: [...ended, ...shown].map((report) => reportJson(report)),
    pending: { count: interrupted.length, taskIds: shown.map(({ taskId }) => taskId) },
    ...rest,
  };
}

/**
 * Names the tasks that a signal has left unfinished: the first of them, how many there are, and where the rest is.
 * @param state what they are, after `3 tasks are`
 */
export async function showInterrupted(
  ids: readonly string[],
  session: Session,
  state = "charged and not saved yet",
): Promise<void> {
  const { signal } = session.context;
  const tasks = ids.length === 1 ? "1 task is" : `${ids.length} tasks are`;
  const more = ids.length - FIRST_IDS;
  await session.console.error([
    `error: ${interruption(signal, "yes").message} ${tasks} ${state}:`,
    ...ids.slice(0, FIRST_IDS).map((id) => `  ${id}`),
    ...(more > 0 ? [`  and ${more} more, which imggen history --all lists`] : []),
    `  Resume with: ${session.commandLine()}`,
  ]);
}
