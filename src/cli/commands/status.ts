import type { Command } from "commander";
import { worstExitCode } from "../../client/exit-codes.ts";
import { waitSettings } from "../../client/given-values.ts";
import { listedTasks } from "../../client/listed-tasks.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { STATUS } from "../../client/options/task-table.ts";
import { displayState, reportExitCode, statusJson } from "../../client/report-json.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import type { WaitSettings } from "../../core/polling/wait.ts";
import type { StatusEvents } from "../../core/use-cases/status.ts";
import { COMMAND_VOCABULARY, resumeCommand } from "../../lib/wording.ts";
import { renderReport } from "../output/render.ts";
import { runWithProgress } from "../output/task-progress.ts";
import { TasksShown } from "../output/tasks-shown.ts";
import { type DisplayOptions, parseDisplayOptions, previewImages } from "../output/viewing.ts";
import { addOptions } from "../session/add-options.ts";
import { type Answer, type RunWith, showAnswer } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const EXAMPLES = `
Examples:
  $ imggen status
  $ imggen status task_3f9c
  $ imggen status task_3f9c --wait --output fox.png
  $ imggen status task_3f9c task_81ab --json
  $ imggen status a-fox-3f9c.png`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[taskId...]", "task ids, or images that imggen saved (default: all unfinished tasks)");
  addOptions(command, STATUS).addHelpText("after", EXAMPLES).action(runWith(runStatus));
}

async function runStatus(session: Session, ids: string[], flags: FlagsOf<typeof STATUS>): Promise<number> {
  const settings = waitSettings(flags, session);
  const { output, overwrite = false } = flags;
  const display = parseDisplayOptions(flags, session);
  const sidecar = session.settings.isOn("sidecar");
  const spec = { wait: flags.wait ? settings : null, output, overwrite, sidecar };
  const isAllTasks = ids.length === 0;
  const names = isAllTasks ? await unfinishedTaskIds(session) : ids;
  const tasks = new TasksShown(session);
  const events = statusEvents(spec, display, tasks, session, isAllTasks);
  const pollTasks = () =>
    runWithProgress(session, flags, tasks, (operations, caller) =>
      operations.status(names, spec, caller, events),
    );
  const reports = names.length === 0 ? [] : await pollTasks();
  if (isAllTasks) await showAnswer(allAnswer(reports, session), session.options, session.console);
  return worstExitCode(reports.map(reportExitCode));
}

function allAnswer(reports: readonly TaskReport[], { console }: Session): Answer {
  const tasks = reports.map((report) => statusJson(report, COMMAND_VOCABULARY));
  return {
    json: { ok: tasks.every(({ ok }) => ok), tasks },
    show: async () => tasks.length > 0 || console.note("No task is unfinished."),
  };
}

async function unfinishedTaskIds(session: Session): Promise<string[]> {
  const ids: string[] = [];
  for await (const entry of listedTasks({ status: "unfinished" }, session, String)) {
    if (entry === "elsewhere") continue;
    if ("unreadable" in entry) await session.console.warn(entry.message);
    else if (entry.report.ledgerId !== null) ids.push(entry.report.ledgerId);
  }
  return ids;
}

/** After a signal, unfinished tasks are only listed. */
function statusEvents(
  { wait, output }: { wait: WaitSettings | null; output: string | undefined },
  display: DisplayOptions,
  tasks: TasksShown,
  session: Session,
  isAllTasks: boolean,
): StatusEvents {
  return {
    onBegin: (targets) => tasks.begin(targets, "not finished yet", wait !== null),
    onPolled: (at) => tasks.markEnded(at),
    async onEnd(report, at) {
      tasks.beginPrinting(at, report);
      if (output !== undefined) await previewImages(report.files, display, session);
      if (tasks.isListed(report)) return;
      const answer = { show: () => show(report, session) };
      const fullAnswer = isAllTasks ? answer : { ...answer, json: statusJson(report, COMMAND_VOCABULARY) };
      await showAnswer(fullAnswer, session.options, session.console);
    },
  };
}

async function show(report: TaskReport, session: Session): Promise<void> {
  if (report.error) return renderReport(report, session);
  const { taskId, ledgerId } = report;
  const files = report.files.map(({ path }) => (path === null ? "standard output" : { path }));
  await session.console.resultLine(taskId ?? ledgerId ?? "", displayState(report), ...files);
  if (report.state === "completed" && files.length === 0 && taskId !== null)
    await session.console.note(`Not saved. To save the images: ${resumeCommand(taskId)}`);
  if (report.isIdle && taskId !== null)
    await session.console.note(`Not running. To continue the task: ${resumeCommand(taskId)}`);
}
