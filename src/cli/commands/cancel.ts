import type { Command } from "commander";
import { worstOf } from "../../client/exit-codes.ts";
import { waitSettings } from "../../client/given-values.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { CANCEL } from "../../client/options/task-table.ts";
import { cancelJson, displayState, exitCodeOfReport } from "../../client/report-json.ts";
import type { CancelReport } from "../../core/engine/cancel-task.ts";
import type { Charged } from "../../lib/error-types.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { COMMAND_WORDS, resumeCommand } from "../../lib/wording.ts";
import { renderReport } from "../output/render.ts";
import { createProgress, withTasksShown } from "../output/task-progress.ts";
import { taskView } from "../output/task-view.ts";
import { addOptions } from "../session/add-options.ts";
import { type RunWith, showAnswer } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const MORE = [
  "What waits is not sent, at no charge. What runs at a free generator is given up.",
  "If another imggen process has a task, that process ends it; cancel waits 10 s for it.",
  "A generator that can cancel is asked to stop what it has accepted. Only it can say whether that is charged.",
  "A paid request that is on its way is left, unless --wait is given. Tasks of the hosted service cannot be cancelled.",
];

const EXAMPLES = `
Examples:
  $ imggen cancel task_3f9c
  $ imggen cancel task_3f9c task_81ab --json
  $ imggen cancel task_3f9c --wait`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description([command.description(), ...MORE].join("\n"))
    .argument("<taskId...>", "ids of tasks that are not finished");
  addOptions(command, CANCEL).addHelpText("after", EXAMPLES).action(runWith(runCancel));
}

async function runCancel(session: Session, ids: string[], flags: FlagsOf<typeof CANCEL>): Promise<number> {
  const settings = waitSettings(flags, session);
  const wait = flags.wait ? settings : null;
  const progress = await createProgress(session, taskView(null), { isBesideResults: ids.length > 1 });
  const reports = await withTasksShown(session, flags, progress, (operations, caller) =>
    operations.cancel(ids, wait, caller, async (report) => {
      const answer = { json: cancelJson(report, COMMAND_WORDS), show: () => show(report, session) };
      await showAnswer(answer, session.options, session.console);
    }),
  );
  return worstOf(reports.map(exitCodeOfReport));
}

async function show(report: CancelReport, session: Session): Promise<void> {
  for (const warning of report.warnings) await session.console.warn(warning);
  if (report.error) return renderReport({ ...report, warnings: [], files: [] }, session);
  const id = report.taskId ?? report.ledgerId ?? "";
  await session.console.resultLine(id, outcomeText(report));
  if (report.state === "completed") await session.console.note(`To save what is made: ${resumeCommand(id)}`);
}

/** What happened to a task that is over, or whose images are made, and what it cost. */
function outcomeText({ cancelled, requests, ...report }: CancelReport): string {
  const isMade = report.state === "completed";
  if (cancelled === 0 && !isMade) return `not cancelled: it is over already (${endWord(report)})`;
  const part = requests === 1 ? "" : ` (${cancelled} of ${pluralize(requests, "request")})`;
  if (cancelled === 0) return `not cancelled: made already, ${costText(report.charged)}`;
  return `cancelled${part}, ${costText(report.charged)}`;
}

function endWord(report: Omit<CancelReport, "cancelled" | "requests">): string {
  if (report.state === "saved" || report.state === "dismissed") return report.state;
  return report.state === "not_sent" ? "never sent" : displayState(report);
}

function costText(charged: Charged): string {
  if (charged === "no") return "nothing was charged";
  return charged === "yes" ? "what was made is charged" : "it may have been charged";
}
