import type { Command } from "commander";
import { worstExitCode } from "../../client/exit-codes.ts";
import { waitSettings } from "../../client/given-values.ts";
import { type CancellableTasks, cancellableTasks } from "../../client/listed-tasks.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { CANCEL } from "../../client/options/task-table.ts";
import { cancelJson, displayState, reportExitCode } from "../../client/report-json.ts";
import type { CancelReport } from "../../core/engine/cancel-task.ts";
import type { Charged } from "../../lib/error-types.ts";
import { UsageError } from "../../lib/error-types.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { COMMAND_VOCABULARY, resumeCommand } from "../../lib/wording.ts";
import { confirmUnlessYes } from "../input/input-stream.ts";
import { renderReport } from "../output/render.ts";
import { createProgress, runWithProgress } from "../output/task-progress.ts";
import { taskView } from "../output/task-view.ts";
import { addOptions } from "../session/add-options.ts";
import { type Answer, type RunWith, showAnswer } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const MORE = [
  "Waiting tasks are not sent, so they cost nothing. Running tasks of a free generator are aborted.",
  "If another imggen process runs a task, cancel asks that process to end it, and waits 10 s.",
  "If a generator supports cancellation, it is asked to stop accepted tasks. Only the generator decides whether they are charged.",
  "Paid requests in flight are cancelled only with --wait. Tasks of the hosted service cannot be cancelled.",
];

const EXAMPLES = `
Examples:
  $ imggen cancel
  $ imggen cancel --all
  $ imggen cancel task_3f9c
  $ imggen cancel task_3f9c task_81ab --json
  $ imggen cancel task_3f9c --wait`;

type Flags = FlagsOf<typeof CANCEL>;

export function register(command: Command, runWith: RunWith): void {
  command
    .description([command.description(), ...MORE].join("\n"))
    .argument("[taskId...]", "ids of unfinished tasks (default: list the tasks that can be cancelled)");
  addOptions(command, CANCEL).addHelpText("after", EXAMPLES).action(runWith(runCancel));
}

async function runCancel(session: Session, taskIds: string[], flags: Flags): Promise<number | Answer> {
  if (taskIds.length > 0 && flags.all) throw new UsageError("--all cannot be combined with task ids.");
  if (taskIds.length > 0) return cancelTasks(taskIds, flags, session);
  const cancellable = await cancellableTasks(session);
  for (const warning of cancellable.warnings) await session.console.warn(warning);
  if (cancellable.served > 0) await session.console.note(servedText(cancellable.served));
  if (!flags.all || cancellable.tasks.length === 0) return listAnswer(cancellable, session);
  if (!(await confirmAll(cancellable, flags, session))) return declined(session);
  const ids = cancellable.tasks.map(({ entry }) => entry.id ?? "");
  return cancelTasks(ids, flags, session);
}

function declined({ console }: Session): Answer {
  return { json: { ok: true, tasks: [] }, show: () => console.note("Nothing was sent.") };
}

function servedText(count: number): string {
  return `${pluralize(count, "task belongs", "tasks belong")} to a running imggen serve. To cancel one: imggen cancel <taskId>`;
}

function listAnswer({ tasks }: Pick<CancellableTasks, "tasks">, { console }: Session): Answer {
  return {
    json: { ok: true, tasks: tasks.map(({ entry }) => entry) },
    async show() {
      for (const { report, status } of tasks)
        await console.resultLine(
          report.taskId ?? report.ledgerId ?? "",
          status,
          report.request?.prompt ?? "",
        );
      await console.note(
        tasks.length > 0 ? "To cancel all of them: imggen cancel --all" : "No task can be cancelled.",
      );
    },
  };
}

/** Asks for confirmation if any task is paid. @throws UsageError if there is no terminal */
async function confirmAll(
  { tasks, paid }: CancellableTasks,
  { yes }: Flags,
  session: Session,
): Promise<boolean> {
  if (paid === 0) return true;
  const tasksText = `${pluralize(tasks.length, "task")}, ${paid} paid`;
  const refusal = `imggen cancel --all would cancel ${tasksText}. Nothing was sent.`;
  return confirmUnlessYes(`Cancel ${tasksText}? Running tasks may be charged.`, refusal, yes, session);
}

async function cancelTasks(ids: readonly string[], flags: Flags, session: Session): Promise<number> {
  const settings = waitSettings(flags, session);
  const wait = flags.wait ? settings : null;
  const progress = await createProgress(session, taskView(null), { isBesideResults: ids.length > 1 });
  const reports = await runWithProgress(session, flags, progress, (operations, caller) =>
    operations.cancel(ids, wait, caller, async (report) => {
      const text = { show: () => show(report, session) };
      const answer = flags.all ? text : { ...text, json: cancelJson(report, COMMAND_VOCABULARY) };
      await showAnswer(answer, session.options, session.console);
    }),
  );
  if (flags.all) {
    const tasks = reports.map((report) => cancelJson(report, COMMAND_VOCABULARY));
    const document = { json: { ok: tasks.every(({ ok }) => ok), tasks }, show: async () => {} };
    await showAnswer(document, session.options, session.console);
  }
  return worstExitCode(reports.map(reportExitCode));
}

async function show(report: CancelReport, session: Session): Promise<void> {
  for (const warning of report.warnings) await session.console.warn(warning);
  if (report.error) return renderReport({ ...report, warnings: [], files: [] }, session);
  const id = report.taskId ?? report.ledgerId ?? "";
  await session.console.resultLine(id, outcomeText(report));
  if (report.state === "completed")
    await session.console.note(`To save the completed images: ${resumeCommand(id)}`);
}

function outcomeText({ cancelled, requests, ...report }: CancelReport): string {
  const isCompleted = report.state === "completed";
  if (cancelled === 0 && !isCompleted) return `not cancelled: already finished (${endStateText(report)})`;
  const part = requests === 1 ? "" : ` (${cancelled} of ${pluralize(requests, "request")})`;
  if (cancelled === 0) return `not cancelled: already completed, ${costText(report.charged)}`;
  return `cancelled${part}, ${costText(report.charged)}`;
}

function endStateText(report: Omit<CancelReport, "cancelled" | "requests">): string {
  if (report.state === "saved" || report.state === "dismissed") return report.state;
  return report.state === "not_sent" ? "never sent" : displayState(report);
}

function costText(charged: Charged): string {
  if (charged === "no") return "nothing was charged";
  return charged === "yes" ? "completed images are charged" : "may have been charged";
}
