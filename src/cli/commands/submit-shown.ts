import path from "node:path";
import { displayState, reportExitCode, reportJson } from "../../client/report-json.ts";
import type { RequestPlan } from "../../client/request-plan.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import { COMMAND_VOCABULARY } from "../../lib/wording.ts";
import { confirm, isForPerson } from "../input/input-stream.ts";
import { renderReport } from "../output/render.ts";
import { createProgress, runWithProgress } from "../output/task-progress.ts";
import { taskView } from "../output/task-view.ts";
import { type DisplayOptions, openImages, previewImages, showsPictures } from "../output/viewing.ts";
import type { Session } from "../session/session.ts";

interface CommandSpec extends RequestPlan {
  requestTimeoutMs: number | undefined;
  display: DisplayOptions;
  yes: boolean;
}

/** @returns the exit code @throws the errors of `generate`. Nothing was sent in this case. */
export async function submitShown(spec: CommandSpec, session: Session): Promise<number> {
  const { requestTimeoutMs } = spec;
  const facts = { ...spec.checked, free: session.isSandbox ? ("sandbox" as const) : null };
  const hasPreviews =
    spec.display.preview && session.settings.generator() !== undefined && showsPictures(session);
  const progress = await createProgress(session, taskView(facts), { hasPreviews });
  const report = await runWithProgress(session, { requestTimeoutMs }, progress, (operations, caller) =>
    operations.generate(spec, caller, {
      onWarning: (message) => session.console.warn(message),
      confirmPrice: spec.yes ? undefined : createPriceQuestion(session),
    }),
  );
  if (!spec.reuse || !report.reused) return showReport(report, spec, session);
  return showReused(report, spec, session);
}

/** Returns undefined if the run is not interactive. */
function createPriceQuestion(session: Session): ((name: string) => Promise<boolean>) | undefined {
  if (!isForPerson(session)) return undefined;
  return (name) => confirm(`The price of ${name} is not documented. Submit?`, session);
}

async function showReused(report: TaskReport, spec: CommandSpec, session: Session): Promise<number> {
  const { folder } = spec;
  if (displayState(report) !== "unknown") {
    const id = report.taskId ?? report.ledgerId ?? "";
    await session.console.note(
      report.charged === "no"
        ? `Already completed as task ${id}, so nothing was sent.`
        : `Already charged as task ${id}, so nothing more was charged.`,
    );
  }
  const folders = report.files.flatMap((file) => (file.path === null ? [] : path.dirname(file.path)));
  const isElsewhere = folder !== null && folders.length > 0 && !folders.includes(folder);
  const warnings = isElsewhere ? [...report.warnings, FOLDER_IGNORED] : report.warnings;
  return showReport({ ...report, warnings }, spec, session);
}

const FOLDER_IGNORED = "--output was ignored, because --reuse copies images only to a file, not to a folder.";

async function showReport(
  report: TaskReport,
  { display, destination }: CommandSpec,
  session: Session,
): Promise<number> {
  await previewImages(report.files, display, session);
  await print(report, session, destination.kind === "stdout");
  await openImages(report.files, display, session);
  return reportExitCode(report);
}

async function print(report: TaskReport, session: Session, isOnStdout = false): Promise<void> {
  if (session.options.json) await session.console.json(reportJson(report, COMMAND_VOCABULARY));
  else await renderReport(report, session, "", isOnStdout);
}

/** Shows the unfinished task of a request whose generator is unusable. @throws `error` if no task is unfinished */
export async function showUnusable(error: unknown, prompt: string, session: Session): Promise<number> {
  const { reportBlockedTask } = await import("../../client/targets/generator-setup.ts");
  const report = await reportBlockedTask(error, prompt, session);
  await print(report, session);
  return reportExitCode(report);
}
