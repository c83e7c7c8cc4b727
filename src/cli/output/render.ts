import { describeFailure } from "../../client/failure.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import { formatDuration } from "../../lib/duration.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { COMMAND_VOCABULARY, resumeCommand } from "../../lib/wording.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Session } from "../session/session.ts";
import { hasSymbols, SAVED_MARK } from "../text/colors.ts";
import { roomOn, type WholeLine } from "../text/fit.ts";
import { creditsText, failureLines, shortPath } from "../text/phrases.ts";

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
    const earlier = report.charged !== "no" ? "Charged earlier" : "Begun earlier";
    const what = report.reused ? earlier : "Submitted";
    return console.note(
      `${what}, ${creditsText(report.credits, report.free)}. Resume with: ${resumeCommand(report.taskId)}`,
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
    await console.note(await savedLines(report, session, which));
  }
  if (report.error) {
    const { verbose } = session.options;
    return console.error(
      failureLines(describeFailure(report.error, COMMAND_VOCABULARY, report), { which, verbose }),
    );
  }
  if (!isOneScreen && report.files.length > 0) await console.note(which + savedLine(report, which));
}

/** Whether both streams end on one screen: then one line with the file and its facts is enough. */
function isLiveTerminal({ console, context: { stdout, stderr } }: Session): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && !console.quiet;
}

/** Line about the saved files, if standard output has their names. */
function savedLine(report: TaskReport, which: string): string {
  const { files } = report;
  const count = pluralize(files.length, "image");
  const separator = report.isSavedBefore ? ":" : "";
  return `${savedLabel(which, report)}${separator} ${[count, ...sizeFacts(files[0]), ...costFacts(report)].join(", ")}.`;
}

/** Lines about the saved files, for a terminal: one for each image, and for several their total cost. */
async function savedLines(
  report: TaskReport,
  { context }: Session,
  which: string,
): Promise<(string | WholeLine)[]> {
  const { files } = report;
  const mark = hasSymbols(context.env) ? `${SAVED_MARK} ` : "";
  const text = `${mark}${which}${savedLabel(which, report)}`;
  const costs = costFacts(report);
  const lines: (string | WholeLine)[] = [];
  for (const file of files) {
    const name = file.path === null ? "to standard output" : shortPath(file.path, context);
    const facts = [...sizeFacts(file), ...(files.length === 1 ? costs : [])].join(", ");
    lines.push(...(await withFacts(text, name, facts, roomOn(context.stderr))));
  }
  if (files.length > 1 && costs.length > 0) lines.push(`${files.length} images, ${costs.join(", ")}`);
  return lines;
}

/** The first words of an image's line; in lower case where something stands before them. */
function savedLabel(which: string, { isSavedBefore }: TaskReport): string {
  if (isSavedBefore) return which === "" ? "Already saved" : "already saved";
  return which === "" ? "Saved" : "saved";
}

/** Cost and duration of the images; empty if an earlier run saved them. */
function costFacts({ credits, free, elapsedMs, isSavedBefore }: TaskReport): string[] {
  if (isSavedBefore) return [];
  return [creditsText(credits, free), ...(elapsedMs === null ? [] : [formatDuration(elapsedMs)])];
}

function sizeFacts(file: SavedFile | undefined): string[] {
  return file?.width ? [`${file.width}×${file.height}`] : [];
}

/** A file's name after a text, and facts in brackets after it; each below what it has no room beside. */
export async function withFacts(
  text: string,
  name: string,
  facts: string,
  columns: number,
): Promise<(string | WholeLine)[]> {
  const { countColumns } = await import("../text/terminal-columns.ts");
  const whole = `${text} ${name}`;
  const beside = facts === "" ? whole : `${whole} (${facts})`;
  if (countColumns(beside) <= columns) return [beside];
  const isTooLong = countColumns(name) + 2 > columns;
  const lines =
    countColumns(whole) <= columns ? [{ whole }] : [text, { whole: isTooLong ? name : `  ${name}` }];
  return facts === "" ? lines : [...lines, `  ${facts}`];
}
