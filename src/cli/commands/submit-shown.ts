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

/** A request as a command submits it. */
interface CommandSpec extends RequestPlan {
  requestTimeoutMs: number | undefined;
  viewing: DisplayOptions;
  /** Whether no question is asked. */
  yes: boolean;
}

/**
 * Submits one request, and shows how it gets on and its result.
 * @returns the exit code
 * @throws what `generate` throws; nothing was sent
 */
export async function submitShown(spec: CommandSpec, session: Session): Promise<number> {
  const { requestTimeoutMs } = spec;
  const facts = { ...spec.checked, free: session.isSandbox ? ("sandbox" as const) : null };
  const hasPreviews =
    spec.viewing.preview && session.settings.generator() !== undefined && showsPictures(session);
  const progress = await createProgress(session, taskView(facts), { hasPreviews });
  const report = await runWithProgress(session, { requestTimeoutMs }, progress, (operations, caller) =>
    operations.generate(spec, caller, {
      onWarning: (message) => session.console.warn(message),
      confirmPrice: spec.yes ? undefined : priceQuestion(session),
    }),
  );
  if (!spec.reuse || !report.reused) return showReport(report, spec, session);
  return showReused(report, spec, session);
}

/** A question about a price that is not documented; undefined if a program runs the command. */
function priceQuestion(session: Session): ((name: string) => Promise<boolean>) | undefined {
  if (!isForPerson(session)) return undefined;
  return (name) => confirm(`The price of ${name} is not documented. Submit?`, session);
}

async function showReused(report: TaskReport, spec: CommandSpec, session: Session): Promise<number> {
  const { folder } = spec;
  if (displayState(report) !== "unknown") {
    const which = report.taskId ?? report.ledgerId ?? "";
    await session.console.note(
      report.charged === "no"
        ? `Already completed as task ${which}: nothing was sent now.`
        : `Already charged as task ${which}: nothing was charged now.`,
    );
  }
  const folders = report.files.flatMap((file) => (file.path === null ? [] : path.dirname(file.path)));
  const isElsewhere = folder !== null && folders.length > 0 && !folders.includes(folder);
  const warnings = isElsewhere ? [...report.warnings, FOLDER_IGNORED] : report.warnings;
  return showReport({ ...report, warnings }, spec, session);
}

const FOLDER_IGNORED =
  "--output was not used: --reuse leaves the images where they were saved, unless it names a file.";

async function showReport(
  report: TaskReport,
  { viewing, destination }: CommandSpec,
  session: Session,
): Promise<number> {
  await previewImages(report.files, viewing, session);
  await print(report, session, destination.kind === "stdout");
  await openImages(report.files, viewing, session);
  return reportExitCode(report);
}

async function print(report: TaskReport, session: Session, isOnStdout = false): Promise<void> {
  if (session.options.json) await session.console.json(reportJson(report, COMMAND_VOCABULARY));
  else await renderReport(report, session, "", isOnStdout);
}

/** Shows the unfinished task of a request whose generator cannot be used. @throws `error` if there is none */
export async function showUnusable(error: unknown, prompt: string, session: Session): Promise<number> {
  const { reportBlockedTask } = await import("../../client/targets/generator-setup.ts");
  const report = await reportBlockedTask(error, prompt, session);
  await print(report, session);
  return reportExitCode(report);
}
