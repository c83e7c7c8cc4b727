import { describeFailure } from "../../client/failure.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import { formatDuration } from "../../lib/duration.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { COMMAND_VOCABULARY, resumeCommand } from "../../lib/wording.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Session } from "../session/session.ts";
import { hasSymbols, SAVED_MARK } from "../text/colors.ts";
import { streamColumns, type UnfoldedLine } from "../text/fit.ts";
import { creditsText, failureLines, shortPath } from "../text/phrases.ts";

/**
 * @param prefix text that identifies the task on standard error, if there are several tasks
 * @param isImageOut whether standard output contains the bytes of an image, which a path would corrupt
 */
export async function renderReport(
  report: TaskReport,
  session: Session,
  prefix = "",
  isImageOut = false,
): Promise<void> {
  const { console } = session;
  if (!report.isAwaited && report.taskId !== null && !report.error) {
    await console.result(report.taskId);
    const reusedLabel = report.charged !== "no" ? "Charged earlier" : "Submitted earlier";
    const label = report.reused ? reusedLabel : "Submitted";
    return console.note(
      `${label}, ${creditsText(report.credits, report.free)}. Resume with: ${resumeCommand(report.taskId)}`,
    );
  }
  const isTerminal = isLiveTerminal(session);
  for (const { path } of isTerminal ? [] : report.files) {
    if (path === null) continue;
    if (isImageOut)
      await console.warn(`Standard output can carry only one image. Another image was saved as ${path}`);
    else await console.resultLine({ path });
  }
  for (const warning of report.warnings) await console.warn(prefix + warning);
  if (isTerminal && report.files.length > 0) {
    await console.note(await savedLines(report, session, prefix));
  }
  if (report.error) {
    const { verbose } = session.options;
    return console.error(
      failureLines(describeFailure(report.error, COMMAND_VOCABULARY, report), { prefix, verbose }),
    );
  }
  if (!isTerminal && report.files.length > 0) await console.note(prefix + savedLine(report, prefix));
}

/** Whether standard output and standard error are both terminals, so that one line with file and details is enough. */
function isLiveTerminal({ console, context: { stdout, stderr } }: Session): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && !console.quiet;
}

function savedLine(report: TaskReport, prefix: string): string {
  const { files } = report;
  const count = pluralize(files.length, "image");
  const separator = report.isSavedBefore ? ":" : "";
  return `${savedLabel(prefix, report)}${separator} ${[count, ...sizeDetails(files[0]), ...costDetails(report)].join(", ")}.`;
}

/** Formats the saved files for a terminal: one line per image, then the total cost if there are several images. */
async function savedLines(
  report: TaskReport,
  { context }: Session,
  prefix: string,
): Promise<(string | UnfoldedLine)[]> {
  const { files } = report;
  const mark = hasSymbols(context.env) ? `${SAVED_MARK} ` : "";
  const text = `${mark}${prefix}${savedLabel(prefix, report)}`;
  const costs = costDetails(report);
  const lines: (string | UnfoldedLine)[] = [];
  for (const file of files) {
    const name = file.path === null ? "to standard output" : shortPath(file.path, context);
    const details = [...sizeDetails(file), ...(files.length === 1 ? costs : [])].join(", ");
    lines.push(...(await fileLines(text, name, details, streamColumns(context.stderr))));
  }
  if (files.length > 1 && costs.length > 0) lines.push(`${files.length} images, ${costs.join(", ")}`);
  return lines;
}

function savedLabel(prefix: string, { isSavedBefore }: TaskReport): string {
  if (isSavedBefore) return prefix === "" ? "Already saved" : "already saved";
  return prefix === "" ? "Saved" : "saved";
}

function costDetails({ credits, free, elapsedMs, isSavedBefore }: TaskReport): string[] {
  if (isSavedBefore) return [];
  return [creditsText(credits, free), ...(elapsedMs === null ? [] : [formatDuration(elapsedMs)])];
}

function sizeDetails(file: SavedFile | undefined): string[] {
  return file?.width ? [`${file.width}×${file.height}`] : [];
}

export async function fileLines(
  text: string,
  name: string,
  details: string,
  columns: number,
): Promise<(string | UnfoldedLine)[]> {
  const { countColumns } = await import("../text/terminal-columns.ts");
  const textAndName = `${text} ${name}`;
  const fullLine = details === "" ? textAndName : `${textAndName} (${details})`;
  if (countColumns(fullLine) <= columns) return [fullLine];
  const isTooLong = countColumns(name) + 2 > columns;
  const lines =
    countColumns(textAndName) <= columns
      ? [{ text: textAndName }]
      : [text, { text: isTooLong ? name : `  ${name}` }];
  return details === "" ? lines : [...lines, `  ${details}`];
}
