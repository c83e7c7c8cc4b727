import path from "node:path";
import type { Command } from "commander";
import { requireFree, resolveDestination } from "../../core/images/destination.ts";
import { PLACEHOLDER_LIST } from "../../core/images/file-name.ts";
import { checkBudget } from "../../core/limits/budget.ts";
import type { ReferenceImages } from "../../core/references/reference-images.ts";
import type { TaskReport } from "../../core/task/report.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import { FLAG_NAMES } from "../../lib/wording.ts";
import { isLocalFile } from "../../models/rules/images.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { Session } from "../app/session.ts";
import { showDryRun } from "../output/dry-run.ts";
import type { ReferenceFlags } from "../tasks/references.ts";
import { OPTION_GROUPS } from "./option-groups.ts";
import { requireOneImageOut } from "./standard-output.ts";
import {
  addOpenOption,
  addPreviewOption,
  openImages,
  previewImages,
  type ViewFlags,
  type Viewing,
  viewingOf,
} from "./view-flags.ts";
import { addWaitOptions, requestTimeout, type WaitFlags, waitSettings } from "./wait-flags.ts";

/** Flags of every command that submits one request. */
export interface GenerateFlags extends WaitFlags, ViewFlags, ReferenceFlags {
  output?: string;
  name?: string;
  overwrite?: boolean;
  sidecar?: boolean;
  dryRun?: boolean;
  wait: boolean;
  maxCredits?: string;
  reuse?: boolean;
  again?: boolean;
  validate: boolean;
}

/** Help of `--sidecar`. */
export const SIDECAR_HELP = "write the request and its cost to <image>.json, beside each image";

/** Adds the flags that say where the images go. */
export function addOutputOptions(command: Command): Command {
  return command
    .optionsGroup(OPTION_GROUPS.output)
    .option("-o, --output <path>", "file, folder (ends in /), or - for standard output")
    .option("--name <template>", `file name in a folder, of ${PLACEHOLDER_LIST}`)
    .option("--overwrite", "replace existing files")
    .option("--sidecar", SIDECAR_HELP);
}

/** Adds the flags that say how the images are shown. */
export function addViewOptions(command: Command): Command {
  return addOpenOption(addPreviewOption(command.optionsGroup(OPTION_GROUPS.output)));
}

/** Adds the flags of cost, waiting and timeouts. */
export function addGenerateOptions(command: Command): Command {
  command
    .optionsGroup(OPTION_GROUPS.cost)
    .option("--dry-run", "validate, show the request and its cost, send nothing")
    .option("--max-credits <n>", "refuse to spend more than <n> credits")
    .optionsGroup(OPTION_GROUPS.waiting)
    .option("--no-wait", "return once the task is accepted");
  return addWaitOptions(command, "how long to wait for the result")
    .option("--check-images", "check type and size of reference images with HEAD, before anything is charged")
    .option("--no-upload-cache", "upload files given as --image again, uploaded before or not");
}

/**
 * Submits one request and shows the result.
 * @param repeated the task whose request is submitted again; if its outcome is unknown, it is dismissed
 * @returns the exit code
 */
export async function runRequest(
  given: CheckedRequest,
  flags: GenerateFlags,
  session: Session,
  repeated: TaskRecord | null = null,
): Promise<number> {
  const { references, checked } = await withReferences(given, flags, session);
  const requestTimeoutMs = requestTimeout(flags);
  const wait = await waitSettings(flags, session);
  const output = await session.settings.get("output", { value: flags.output, label: "--output" });
  const toStandardOutput = output?.value === "-";
  if (toStandardOutput) await requireOneImageOut(checked, flags, session, output.label);
  const sidecar = await session.settings.isOn("sidecar", flags.sidecar);
  const viewing = await viewingOf(flags, session);
  const { name, overwrite = false } = flags;
  const { resolvePath } = session.context;
  const maxCredits = maxCreditsOf(flags);
  const rules = { matrix: await session.matrix(), allowUndocumented: !flags.validate };
  // What is reused costs nothing.
  if (maxCredits !== undefined && (flags.dryRun || !flags.reuse)) checkBudget(checked, maxCredits, rules);
  const place = { output: output?.value, name, overwrite, sidecar, resolvePath };
  const destination = await resolveDestination({ ...place, mayExist: true });
  if (flags.dryRun) await requireFree(destination);
  for (const warning of checked.warnings) await session.console.warn(warning);
  if (flags.dryRun) return showDryRun(checked, references, flags, session);
  const { openEarly } = await import("../tasks/open-early.ts");
  // An upload may take longer than the service keeps a connection that asks nothing.
  const early = references === null && !flags.reuse ? await openEarly(session) : null;
  const { submitShown } = await import("../tasks/generate.ts");
  const spec = {
    checked,
    destination,
    references,
    wait: flags.wait ? wait : null,
    repeated,
    reuse: flags.reuse === true,
    again: flags.again === true,
    maxCredits,
    ...rules,
  };
  const report = await submitShown(spec, { requestTimeoutMs, early }, session);
  const isReused = flags.reuse && report.reused;
  if (!isReused) return showReport(report, viewing, session);
  const isGiven = flags.output !== undefined && destination.kind === "folder";
  return showReused(report, isGiven ? destination.folder : null, viewing, session);
}

/** The reference images that must be checked or uploaded, which few requests have, and what is said of them. */
async function withReferences(
  checked: CheckedRequest,
  flags: ReferenceFlags,
  session: Session,
): Promise<{ references: ReferenceImages | null; checked: CheckedRequest }> {
  const images = [checked.request.image ?? []].flat();
  const isChecked = flags.checkImages === true && images.length > 0;
  if (!isChecked && !images.some(isLocalFile)) return { references: null, checked };
  const { openReferences } = await import("../tasks/references.ts");
  const { references, warnings } = await openReferences(images, flags, session);
  return { references, checked: { ...checked, warnings: [...checked.warnings, ...warnings] } };
}

/** Shows an earlier task that was reused. @param folder where the user wants images; null: at an exact path, or nowhere */
async function showReused(
  report: TaskReport,
  folder: string | null,
  viewing: Viewing,
  session: Session,
): Promise<number> {
  const { reportStatus } = await import("../../core/task/report.ts");
  if (reportStatus(report) !== "unknown") {
    const which = report.taskId ?? report.ledgerId ?? "";
    await session.console.note(`Already charged as task ${which}: nothing was charged now.`);
  }
  const places = report.files.flatMap((file) => (file.path === null ? [] : path.dirname(file.path)));
  const isElsewhere = folder !== null && places.length > 0 && !places.includes(folder);
  const warnings = isElsewhere ? [...report.warnings, FOLDER_IGNORED] : report.warnings;
  return showReport({ ...report, warnings }, viewing, session);
}

const FOLDER_IGNORED =
  "--output was not used: --reuse leaves the images where they were saved, unless it names a file.";

function maxCreditsOf({ maxCredits }: GenerateFlags): number | undefined {
  return maxCredits === undefined ? undefined : wholeNumberOption("--max-credits", maxCredits, { min: 0 });
}

async function showReport(report: TaskReport, viewing: Viewing, session: Session): Promise<number> {
  const { exitCodeOfReport, renderReport } = await import("../output/render.ts");
  const { reportJson } = await import("../../client/report-json.ts");
  await previewImages(report.files, viewing, session);
  if (session.options.json) await session.json(reportJson(report, FLAG_NAMES));
  else await renderReport(report, session);
  await openImages(report.files, viewing, session);
  return exitCodeOfReport(report);
}
