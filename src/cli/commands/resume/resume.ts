import type { Command } from "commander";
import { openLedger } from "../../../client/client-session.ts";
import { reportJson } from "../../../client/report-json.ts";
import { dismissTask } from "../../../core/engine/dismiss.ts";
import { findNamed } from "../../../core/engine/named-tasks.ts";
import type { TaskReport } from "../../../core/engine/report.ts";
import { MissingProviderError } from "../../../core/errors.ts";
import { resolveFileDestination } from "../../../core/images/destination.ts";
import { DEFAULT_TEMPLATE } from "../../../core/images/file-name.ts";
import { type ResumeTasksSpec, resume } from "../../../core/use-cases/resume.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { COMMAND_WORDS } from "../../../lib/wording.ts";
import { isAtGenerator } from "../../../task/intent.ts";
import type { Task } from "../../../task/task.ts";
import { addPreviewOption, type ViewFlags, viewingOf } from "../../flags/view-flags.ts";
import {
  addWaitOptions,
  OTHER_KEY_HELP,
  requestTimeout,
  type WaitFlags,
  waitSettings,
} from "../../flags/wait-flags.ts";
import { withTasksShown } from "../../output/task-progress.ts";
import { TasksShown } from "../../output/tasks-shown.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { exitCodeOf, shownEvents, showResumed } from "./show-resumed.ts";

interface ResumeFlags extends WaitFlags, ViewFlags {
  output?: string;
  overwrite?: boolean;
  dismiss?: boolean;
  yes?: boolean;
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
    .option("--dismiss", "dismiss requests whose outcome is unknown, or that their service no longer knows")
    .option("--yes", OTHER_KEY_HELP);
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
  const timeouts = { requestTimeoutMs: requestTimeout(flags), acceptsOtherKey: flags.yes };
  const resumed = await withTasksShown(session, timeouts, tasks, (deps) =>
    resume(spec, deps, shownEvents(viewing, tasks, session)),
  );
  const exitCode = exitCodeOf(resumed);
  await showResumed(resumed, ids, exitCode, session);
  return exitCode;
}

async function runDismiss(session: Session, ids: string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError("--dismiss needs the ids of the requests to dismiss.");
  const ledger = openLedger(session);
  const reports: TaskReport[] = [];
  for (const { id, record } of await findNamed(ids, ledger)) {
    if (record === null) throw new UsageError(`The ledger has no task ${JSON.stringify(id)}.`);
    const reason = { why: "dismissed by the user", replacement: null };
    reports.push(await dismissTask(record, reason, ledger, await isStuck(record, session)));
    await session.console.note(`${record.id} dismissed. imggen history still shows it.`);
  }
  if (session.options.json)
    await session.console.json({
      ok: true,
      tasks: reports.map((report) => reportJson(report, COMMAND_WORDS)),
    });
  return 0;
}

/** Whether a task cannot be continued, because its provider is missing. */
async function isStuck({ intent, id }: Task, session: Session): Promise<boolean> {
  if (!isAtGenerator(intent)) return false;
  const { requireKnown } = await import("../../../client/own-generator.ts");
  try {
    requireKnown(intent.service.baseUrl, id, session);
    return false;
  } catch (error) {
    if (error instanceof MissingProviderError) return true;
    throw error;
  }
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
