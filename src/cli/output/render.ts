import { STILL_RUNNING } from "../../client/exit-codes.ts";
import { describeFailure, resumeCommand } from "../../client/failure.ts";
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
 */
export async function renderReport(report: TaskReport, session: Session, which = ""): Promise<void> {
  const { console } = session;
  if (!report.isAwaited && report.taskId !== null && !report.error) {
    await console.result(report.taskId);
    const what = report.reused ? "Charged earlier" : "Submitted";
    return console.note(
      `${what}, ${creditsText(report.credits)}. Resume with: ${resumeCommand(report.taskId)}`,
    );
  }
  const isOneScreen = isLiveTerminal(session);
  for (const { path } of isOneScreen ? [] : report.files)
    if (path !== null) await console.resultLine({ path });
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
