import { STILL_RUNNING } from "../../client/exit-codes.ts";
import { describeFailure, resumeCommand } from "../../client/failure.ts";
import { interruptedError } from "../../core/errors.ts";
import { reportStatus, type TaskReport } from "../../core/task/report.ts";
import { FLAG_NAMES } from "../../lib/wording.ts";
import type { Session } from "../session/session.ts";
import { costsOf, creditsText, failureLines, savedWord } from "../text/phrases.ts";

/** The exit code that a report means. */
export function exitCodeOfReport(report: TaskReport): number {
  if (report.error) return describeFailure(report.error, FLAG_NAMES, report).exitCode;
  return reportStatus(report) === "running" ? STILL_RUNNING : 0;
}

/**
 * Shows a report to a person: the result on standard output, the rest on standard error.
 * @param which of several tasks it is of: what its lines on standard error begin with
 * @param isImageOut whether standard output carries an image's bytes, which a path after them would spoil
 */
export async function renderReport(
  report: TaskReport,
  session: Session,
  which = "",
  isImageOut = false,
): Promise<void> {
  const { console } = session;
  if (!report.isAwaited && report.taskId !== null && !report.error) {
    await console.result(report.taskId);
    const what = report.reused ? "Charged earlier" : "Submitted";
    return console.note(
      `${what}, ${creditsText(report.credits)}. Resume with: ${resumeCommand(report.taskId)}`,
    );
  }
  const isOneScreen = isLiveTerminal(session);
  for (const { path } of isOneScreen ? [] : report.files) {
    if (path === null) continue;
    if (isImageOut) await console.warn(`Standard output takes one image; another was saved as ${path}`);
    else await console.resultLine({ path });
  }
  for (const warning of report.warnings) await console.warn(which + warning);
  if (isOneScreen && report.files.length > 0) {
    const { savedLines } = await import("./saved-lines.ts");
    await console.note(savedLines(report, session, which));
  }
  if (report.error) return renderFailure(report.error, report, session, which);
  if (!isOneScreen && report.files.length > 0) await console.note(which + savedLine(report, which));
}

/** Whether both streams end on one screen: then a line that names the file and says more is enough. */
function isLiveTerminal({ console, context: { stdout, stderr } }: Session): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && !console.quiet;
}

async function renderFailure(
  error: Error,
  report: TaskReport,
  session: Session,
  which: string,
): Promise<void> {
  await session.console.error(failureLines(describeFailure(error, FLAG_NAMES, report), which));
}

function savedLine(report: TaskReport, which: string): string {
  const { files } = report;
  const count = files.length === 1 ? "1 image" : `${files.length} images`;
  const size = files[0]?.width ? [`${files[0].width}×${files[0].height}`] : [];
  const said = report.isSavedBefore ? ":" : "";
  return `${savedWord(which, report)}${said} ${[count, ...size, ...costsOf(report)].join(", ")}.`;
}

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
