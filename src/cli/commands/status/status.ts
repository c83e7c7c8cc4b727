import type { Command } from "commander";
import { worstOf } from "../../../client/exit-codes.ts";
import { resumeCommand } from "../../../client/failure.ts";
import { statusJson } from "../../../client/report-json.ts";
import { requireFolderForSeveral, resolveFileDestination } from "../../../core/images/destination.ts";
import { prepareDestination } from "../../../core/images/prepare-destination.ts";
import { reportStatus, type TaskReport } from "../../../core/task/report.ts";
import type { ResumeDeps } from "../../../core/task/resume.ts";
import { distinct, withRateLimitedPolls } from "../../../core/task/resume-many.ts";
import { type NamedTask, namedTasks, type StatusSpec, statusOf } from "../../../core/task/status.ts";
import { inOrder } from "../../../lib/concurrency.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import type { RunWith } from "../../app/command.ts";
import type { Session } from "../../app/session.ts";
import { addPreviewOption, previewImages, type ViewFlags, viewingOf } from "../../flags/view-flags.ts";
import { addWaitOptions, requestTimeout, type WaitFlags, waitSettings } from "../../flags/wait-flags.ts";
import { isInterrupted, showAtSignal } from "../../output/interrupted.ts";
import { exitCodeOfReport, renderReport } from "../../output/render.ts";
import { withTasksShown } from "../../tasks/with-tasks.ts";
import { createStatusProgress, type StatusProgress } from "./progress.ts";

interface StatusFlags extends WaitFlags, ViewFlags {
  wait?: boolean;
  output?: string;
  overwrite?: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen status task_3f9c
  $ imggen status task_3f9c --wait --output fox.png
  $ imggen status task_3f9c task_81ab --json
  $ imggen status a-fox-3f9c.png`;

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("<taskId...>", "task ids, or images that imggen saved")
    .option("--wait", "poll until each task is finished")
    .option("-o, --output <path>", "save the images of completed tasks there")
    .option("--overwrite", "replace existing files");
  addPreviewOption(command);
  addWaitOptions(command, "how long to wait", "with --wait: ")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runStatus));
}

async function runStatus(session: Session, ids: string[], flags: StatusFlags): Promise<number> {
  const settings = await waitSettings(flags, session);
  const { output, overwrite = false } = flags;
  const viewing = await viewingOf(flags, session);
  const sidecar = await session.settings.isOn("sidecar");
  const { resolvePath } = session.context;
  const destination =
    output === undefined ? null : await resolveFileDestination({ output, overwrite, sidecar, resolvePath });
  const options = { wait: flags.wait ? settings : null, destination };
  const progress = createStatusProgress(flags.wait === true, session);
  const timeouts = { requestTimeoutMs: requestTimeout(flags) };
  const codes = await withTasksShown(session, timeouts, progress, async (deps) => {
    const named = await namedTasks(ids, session.context.resolvePath, deps.ledger);
    // Polled as often as it is named, saved once.
    const tasks = destination ? distinct(named) : named;
    requireFolderForSeveral(destination, tasks.length);
    if (destination) await prepareDestination(destination);
    await progress.begin(tasks.map(nameOf));
    return showEach(tasks, options, { deps, progress, session }, async ({ files }) => {
      if (destination) await previewImages(files, viewing, session);
    });
  });
  return worstOf(codes);
}

interface Showing {
  deps: ResumeDeps;
  progress: StatusProgress;
  session: Session;
}

/** Polls all tasks together, and shows them in the order in which they were named. @returns their exit codes */
async function showEach(
  tasks: readonly NamedTask[],
  options: StatusSpec,
  { deps, progress, session }: Showing,
  beforeShown: (report: TaskReport) => Promise<void>,
): Promise<number[]> {
  const running = new Set(tasks);
  const runningAtSignal = () => {
    progress.stop();
    return [...running].map(nameOf);
  };
  // Of several tasks that a signal interrupts it is said once.
  const isSaidOnce = tasks.length > 1 && !session.options.json;
  const stopWaiting = isSaidOnce ? showAtSignal(runningAtSignal, session, "not finished yet") : () => {};
  const limited = withRateLimitedPolls(deps);
  const codes = await inOrder(
    tasks.map(async (task, at) => {
      const report = await statusOf(task.id, task.record, options, limited);
      running.delete(task);
      progress.finished(at);
      return { report, at };
    }),
    async ({ report, at }) => {
      progress.printing(at);
      await beforeShown(report);
      if (!isSaidOnce || !isInterrupted(report)) await show(report, session);
      return exitCodeOfReport(report);
    },
  );
  stopWaiting();
  progress.stop();
  return codes;
}

/** The service's id, where the ledger has it: a task may be named by the beginning of one. */
function nameOf({ id, record }: NamedTask): string {
  return record !== null && "taskId" in record.state ? record.state.taskId : id;
}

async function show(report: TaskReport, session: Session): Promise<void> {
  if (session.options.json) return session.json(statusJson(report, FLAG_NAMES));
  if (report.error) return renderReport(report, session);
  const { taskId, ledgerId } = report;
  const files = report.files.map(({ path }) => (path === null ? "standard output" : { path }));
  await session.console.resultLine(taskId ?? ledgerId ?? "", reportStatus(report), ...files);
  if (report.state === "completed" && files.length === 0 && taskId !== null)
    await session.console.note(`Not saved; run ${resumeCommand(taskId)}`);
}
