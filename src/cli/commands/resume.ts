import type { Command } from "commander";
import { openLedger } from "../../client/client-session.ts";
import { EXIT_CODES, worstOf } from "../../client/exit-codes.ts";
import { describeFailure } from "../../client/failure.ts";
import { reportJson, unreadableFiles } from "../../client/report-json.ts";
import { interruptedError } from "../../core/errors.ts";
import { resolveFileDestination } from "../../core/images/destination.ts";
import { DEFAULT_TEMPLATE } from "../../core/images/file-name.ts";
import { dismissTask } from "../../core/task/dismiss.ts";
import { findNamed } from "../../core/task/named-tasks.ts";
import type { TaskReport } from "../../core/task/report.ts";
import {
  type Resumed,
  type ResumeEvents,
  type ResumeTarget,
  type ResumeTargets,
  type ResumeTasksSpec,
  resume,
} from "../../core/use-cases/resume.ts";
import { type Charged, UsageError } from "../../lib/error-types.ts";
import { counted } from "../../lib/whole-number.ts";
import { FLAG_NAMES } from "../../lib/wording.ts";
import { describeUnreadable } from "../../store/ledger-entry.ts";
import { freeAt } from "../../task/intent.ts";
import { chargedOf } from "../../task/record.ts";
import {
  addPreviewOption,
  previewImages,
  type ViewFlags,
  type Viewing,
  viewingOf,
} from "../flags/view-flags.ts";
import { addWaitOptions, requestTimeout, type WaitFlags, waitSettings } from "../flags/wait-flags.ts";
import { exitCodeOfReport, renderReport } from "../output/render.ts";
import { withTasksShown } from "../output/task-progress.ts";
import { isInterrupted, TasksShown } from "../output/tasks-shown.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

interface ResumeFlags extends WaitFlags, ViewFlags {
  output?: string;
  overwrite?: boolean;
  dismiss?: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen resume
  $ imggen resume task_3f9c
  $ imggen resume task_3f9c --output fox.png
  $ imggen resume 20261121T143052118-9c41d07e --dismiss`;

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("[taskId...]", "ids of tasks; none: every unfinished one")
    .option("-o, --output <path>", "override the saved output path")
    .option("--overwrite", "replace existing files")
    .option("--dismiss", "dismiss requests whose outcome is unknown");
  addPreviewOption(command);
  addWaitOptions(command, "how long to wait for each task")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runResume));
}

async function runResume(session: Session, ids: string[], flags: ResumeFlags): Promise<number> {
  if (flags.dismiss) return runDismiss(session, ids);
  const viewing = viewingOf(flags, session);
  const spec = { ...(await resumeSpec(flags, session)), ids, isSandbox: session.isSandbox };
  const tasks = new TasksShown(session);
  const timeouts = { requestTimeoutMs: requestTimeout(flags) };
  const resumed = await withTasksShown(session, timeouts, tasks, (deps) =>
    resume(spec, deps, shownEvents(viewing, tasks, session)),
  );
  const exitCode = exitCodeOf(resumed);
  await show(resumed, ids, exitCode, session);
  return exitCode;
}

async function runDismiss(session: Session, ids: string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError("--dismiss needs the ids of the requests to dismiss.");
  const ledger = openLedger(session);
  const reports: TaskReport[] = [];
  for (const { id, record } of await findNamed(ids, ledger)) {
    if (record === null) throw new UsageError(`The ledger has no task ${JSON.stringify(id)}.`);
    reports.push(await dismissTask(record, { why: "dismissed by the user", replacement: null }, ledger));
    await session.console.note(`${record.id} dismissed. imggen history still shows it.`);
  }
  if (session.options.json)
    await session.console.json({ ok: true, tasks: reports.map((report) => reportJson(report, FLAG_NAMES)) });
  return 0;
}

async function resumeSpec(
  flags: ResumeFlags,
  session: Session,
): Promise<Omit<ResumeTasksSpec, "ids" | "isSandbox">> {
  const { output, overwrite = false } = flags;
  const sidecar = session.settings.isOn("sidecar");
  const { resolvePath } = session.context;
  const destination = await resolveFileDestination({ output, overwrite, sidecar, resolvePath });
  const fallback = () =>
    ({ kind: "folder", folder: resolvePath("."), template: DEFAULT_TEMPLATE, overwrite, sidecar }) as const;
  return { wait: waitSettings(flags, session), destination, fallback, placeOfServed: fallback };
}

/** Shows each task as it ends; after a signal, all that are left at once. */
function shownEvents(viewing: Viewing, tasks: TasksShown, session: Session): ResumeEvents {
  // A task's picture, then its lines, then the next one's.
  let shown = Promise.resolve();
  return {
    async onBegin({ targets, served, unreadable }) {
      for (const entry of unreadable) await session.console.warn(describeUnreadable(entry));
      if (served.length > 0) await session.console.note(servedText(served));
      await tasks.begin(targets, areCharged(targets) ? "charged and not saved yet" : "not finished yet");
    },
    async onEnd(report, at) {
      tasks.ended(at);
      if (session.options.json || tasks.isNamed(report)) return;
      shown = shown
        .catch(() => {})
        .then(async () => {
          await previewImages(report.files, viewing, session);
          await renderReport(report, session, tasks.printing(at, report));
        });
      await shown;
    },
  };
}

/** Says who finishes tasks that this command leaves alone. */
function servedText(served: ResumeTargets["served"]): string {
  const pids = [...new Set(served.map(({ by }) => by.pid))].join(", ");
  const tasks = counted(served.length, "task is", "tasks are");
  return `${tasks} left to imggen serve (pid ${pids}), which is running.`;
}

/** Whether each of some tasks was charged, in more than play money. */
function areCharged(targets: readonly ResumeTarget[]): boolean {
  return targets.every(
    ({ record }) => record === null || (chargedOf(record) !== "no" && freeAt(record.intent) === null),
  );
}

/** An unknown outcome outweighs the rest: only the user can decide about it. */
function exitCodeOf({ reports, unreadable }: Resumed): number {
  const codes = reports.map(exitCodeOfReport);
  const unknown = EXIT_CODES.outcome_unknown;
  if (reports.some(isInterrupted)) return worstOf(codes);
  return unreadable.length > 0 || codes.includes(unknown) ? unknown : worstOf(codes);
}

async function show(resumed: Resumed, ids: string[], exitCode: number, session: Session): Promise<void> {
  const { reports, served, unreadable } = resumed;
  const [only] = reports;
  if (session.options.json) {
    return session.console.json(
      ids.length === 1 && only ? reportJson(only, FLAG_NAMES) : resumedJson(resumed, exitCode, session),
    );
  }
  if (reports.length === 0 && served.length === 0 && unreadable.length === 0)
    await session.console.note("Nothing to resume: no task is unfinished.");
}

/** What some tasks have cost together. */
function mostCharged(reports: readonly TaskReport[]): Charged {
  const each = reports.map(({ charged }) => charged);
  if (each.includes("yes")) return "yes";
  return each.includes("unknown") ? "unknown" : "no";
}

const MOST_IDS = 100;

/** What a script gets of a `resume` of several tasks. */
function resumedJson({ reports, unreadable }: Resumed, exitCode: number, session: Session): object {
  const rest = unreadableFiles(unreadable);
  const interrupted = reports.filter(isInterrupted);
  if (interrupted.length === 0)
    return { ok: exitCode === 0, tasks: reports.map((report) => reportJson(report, FLAG_NAMES)), ...rest };
  const shown = interrupted.slice(0, MOST_IDS);
  const ended = reports.filter((report) => !isInterrupted(report));
  const resume = session.commandLine();
  const failure = describeFailure(
    interruptedError(session.context.signal, mostCharged(interrupted)),
    FLAG_NAMES,
  );
  return {
    ...failure,
    error: { ...failure.error, hint: `Resume with: ${resume}` },
    resume,
    tasks: [...ended, ...shown].map((report) => reportJson(report, FLAG_NAMES)),
    pending: { count: interrupted.length, taskIds: shown.map(({ taskId }) => taskId) },
    ...rest,
  };
}
