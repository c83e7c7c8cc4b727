import type { Command } from "commander";
import { EXIT_CODES, worstExitCode } from "../../client/exit-codes.ts";
import { describeFailure } from "../../client/failure.ts";
import { waitSettings } from "../../client/given-values.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { RESUME } from "../../client/options/task-table.ts";
import {
  areCharged,
  reportExitCode,
  reportJson,
  skippedTasks,
  unreadableFiles,
} from "../../client/report-json.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import type { ResumeEvents, ResumeReports, ResumeTargets } from "../../core/use-cases/resume.ts";
import { type Charged, UsageError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { COMMAND_VOCABULARY, resumeCommand } from "../../lib/wording.ts";
import { renderReport } from "../output/render.ts";
import { runWithProgress } from "../output/task-progress.ts";
import { isInterrupted, TasksShown } from "../output/tasks-shown.ts";
import { type DisplayOptions, parseDisplayOptions, previewImages } from "../output/viewing.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type ResumeFlags = FlagsOf<typeof RESUME>;

const EXAMPLES = `
Examples:
  $ imggen resume
  $ imggen resume task_3f9c
  $ imggen resume task_3f9c --output fox.png
  $ imggen resume 20261121T143052118-9c41d07e --dismiss`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[taskId...]", "task ids (default: all unfinished tasks)");
  addOptions(command, RESUME).addHelpText("after", EXAMPLES).action(runWith(runResume));
}

async function runResume(session: Session, ids: string[], flags: ResumeFlags): Promise<number> {
  if (flags.dismiss) return runDismiss(session, ids);
  const display = parseDisplayOptions(flags, session);
  const { output, overwrite = false } = flags;
  const outputOptions = { output, overwrite, sidecar: session.settings.isOn("sidecar") };
  const spec = { ...outputOptions, wait: waitSettings(flags, session), takesServed: true };
  const tasks = new TasksShown(session);
  const resumed = await runWithProgress(session, flags, tasks, (operations, caller) =>
    operations.resume(ids, spec, caller, resumeEvents(display, tasks, session)),
  );
  const exitCode = resumeExitCode(resumed);
  await showResumed(resumed, ids, exitCode, session);
  return exitCode;
}

async function runDismiss(session: Session, ids: string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError("--dismiss needs task ids.");
  const { Operations } = await import("../../client/operations.ts");
  const reports = await new Operations(session, undefined).dismiss(ids);
  for (const { ledgerId, state } of reports)
    await session.console.note(
      state === "completed"
        ? `Dismissed the requests of unknown outcome of task ${ledgerId}, which stays open. To save its images: ${resumeCommand(ledgerId ?? "")}`
        : `Dismissed task ${ledgerId}, which imggen history still lists.`,
    );
  if (session.options.json)
    await session.console.json({
      ok: true,
      tasks: reports.map((report) => reportJson(report, COMMAND_VOCABULARY)),
    });
  return 0;
}

/** After a signal, unfinished tasks are only listed. */
function resumeEvents(display: DisplayOptions, tasks: TasksShown, session: Session): ResumeEvents {
  // Serializes output, so that the images and lines of a task stay together.
  let lastOutput = Promise.resolve();
  return {
    async onBegin({ targets, served, unreadable }) {
      for (const { message } of unreadableFiles(unreadable).unreadable ?? [])
        await session.console.warn(message);
      if (served.length > 0) await session.console.note(servedText(served));
      await tasks.begin(targets, areCharged(targets) ? "charged and not saved yet" : "not finished yet");
    },
    async onEnd(report, at) {
      tasks.markEnded(at);
      if (session.options.json || tasks.isListed(report)) return;
      lastOutput = lastOutput
        .catch(() => {})
        .then(async () => {
          await previewImages(report.files, display, session);
          await renderReport(report, session, tasks.beginPrinting(at, report));
        });
      await lastOutput;
    },
  };
}

function servedText(served: ResumeTargets["served"]): string {
  const pids = [...new Set(served.map(({ by }) => by.pid))].join(", ");
  return `Skipped ${pluralize(served.length, "task")} of imggen serve, which is running (pid ${pids}).`;
}

/** An unknown outcome outweighs other errors, because the user must decide about the task. */
function resumeExitCode({ reports, unreadable }: ResumeReports): number {
  const codes = reports.map(reportExitCode);
  const unknown = EXIT_CODES.outcome_unknown;
  if (reports.some(isInterrupted)) return worstExitCode(codes);
  return unreadable.length > 0 || codes.includes(unknown) ? unknown : worstExitCode(codes);
}

async function showResumed(
  resumed: ResumeReports,
  ids: string[],
  exitCode: number,
  session: Session,
): Promise<void> {
  const { reports, served, unreadable } = resumed;
  const [only] = reports;
  if (session.options.json) {
    return session.console.json(
      ids.length === 1 && only
        ? reportJson(only, COMMAND_VOCABULARY)
        : resumedJson(resumed, exitCode, session),
    );
  }
  if (reports.length === 0 && served.length === 0 && unreadable.length === 0)
    await session.console.note("Nothing to resume: no task is unfinished.");
}

function worstCharge(reports: readonly TaskReport[]): Charged {
  const charges = reports.map(({ charged }) => charged);
  if (charges.includes("yes")) return "yes";
  return charges.includes("unknown") ? "unknown" : "no";
}

const MAX_IDS = 100;

function resumedJson(resumed: ResumeReports, exitCode: number, session: Session): object {
  const { reports } = resumed;
  const skippedFields = skippedTasks(resumed);
  const interrupted = reports.filter(isInterrupted);
  if (interrupted.length === 0)
    return {
      ok: exitCode === 0,
      tasks: reports.map((report) => reportJson(report, COMMAND_VOCABULARY)),
      ...skippedFields,
    };
  const visible = interrupted.slice(0, MAX_IDS);
  const otherReports = reports.filter((report) => !isInterrupted(report));
  const resume = session.commandLine();
  const failure = describeFailure(
    interruptedError(session.context.signal, worstCharge(interrupted)),
    COMMAND_VOCABULARY,
  );
  return {
    ...failure,
    error: { ...failure.error, hint: `Resume with: ${resume}` },
    resume,
    tasks: [...otherReports, ...visible].map((report) => reportJson(report, COMMAND_VOCABULARY)),
    pending: { count: interrupted.length, taskIds: visible.map(({ taskId }) => taskId) },
    ...skippedFields,
  };
}
