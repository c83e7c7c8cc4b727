import type { Command } from "commander";
import { waitSettings } from "../../../client/given-values.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { RESUME } from "../../../client/options/task-table.ts";
import { reportJson } from "../../../client/report-json.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { COMMAND_WORDS } from "../../../lib/wording.ts";
import { withTasksShown } from "../../output/task-progress.ts";
import { TasksShown } from "../../output/tasks-shown.ts";
import { viewingOf } from "../../output/viewing.ts";
import { addOptions } from "../../session/add-options.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { exitCodeOf, shownEvents, showResumed } from "./show-resumed.ts";

type ResumeFlags = FlagsOf<typeof RESUME>;

const EXAMPLES = `
Examples:
  $ imggen resume
  $ imggen resume task_3f9c
  $ imggen resume task_3f9c --output fox.png
  $ imggen resume 20261121T143052118-9c41d07e --dismiss`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[taskId...]", "ids of tasks; none: every unfinished one");
  addOptions(command, RESUME).addHelpText("after", EXAMPLES).action(runWith(runResume));
}

async function runResume(session: Session, ids: string[], flags: ResumeFlags): Promise<number> {
  if (flags.dismiss) return runDismiss(session, ids);
  const viewing = viewingOf(flags, session);
  const { output, overwrite = false } = flags;
  const place = { output, overwrite, sidecar: session.settings.isOn("sidecar") };
  const spec = { ...place, wait: waitSettings(flags, session), takesServed: true };
  const tasks = new TasksShown(session);
  const timeouts = { requestTimeoutMs: flags.requestTimeoutMs, acceptsOtherKey: flags.yes };
  const resumed = await withTasksShown(session, timeouts, tasks, (operations, caller) =>
    operations.resume(ids, spec, caller, shownEvents(viewing, tasks, session)),
  );
  const exitCode = exitCodeOf(resumed);
  await showResumed(resumed, ids, exitCode, session);
  return exitCode;
}

async function runDismiss(session: Session, ids: string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError("--dismiss needs the ids of the requests to dismiss.");
  const { Operations } = await import("../../../client/operations.ts");
  const reports = await new Operations(session, undefined).dismiss(ids);
  for (const { ledgerId } of reports)
    await session.console.note(`${ledgerId} dismissed. imggen history still shows it.`);
  if (session.options.json)
    await session.console.json({
      ok: true,
      tasks: reports.map((report) => reportJson(report, COMMAND_WORDS)),
    });
  return 0;
}
