import type { Command } from "commander";
import type { OutputFolder } from "../../core/batch/batch-row.ts";
import { type BatchSpec, DEFAULT_CONCURRENCY, MOST_CONCURRENCY } from "../../core/batch/batch-spec.ts";
import { outputFolder } from "../../core/batch/row-files.ts";
import { PLACEHOLDER_LIST } from "../../core/images/file-name.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import type { Session } from "../session/session.ts";
import { SIDECAR_HELP } from "./generate-flags.ts";
import { OPTION_GROUPS } from "./option-groups.ts";
import { addWaitOptions, type WaitFlags } from "./wait-flags.ts";

/** Flags of every command that submits many requests. */
export interface BatchFlags extends WaitFlags {
  output?: string;
  name?: string;
  overwrite?: boolean;
  sidecar?: boolean;
  sheet?: boolean;
  concurrency?: string;
  maxCredits?: string;
  yes?: boolean;
  dryRun?: boolean;
  validate: boolean;
  retryFailed?: boolean;
  resubmitUnknown?: boolean;
}

export function addBatchOutputOptions(command: Command): Command {
  return command
    .optionsGroup(OPTION_GROUPS.output)
    .option("-o, --output <dir>", "folder for the images (default: the current one)")
    .option("--name <template>", `file name, of ${PLACEHOLDER_LIST}`)
    .option("--overwrite", "replace existing files")
    .option("--sidecar", SIDECAR_HELP)
    .option("--sheet", "make a contact sheet of the images, contact-sheet.png");
}

export function addBatchOptions(command: Command): Command {
  command
    .optionsGroup(OPTION_GROUPS.cost)
    .option("--max-credits <n>", "total budget, earlier runs included")
    .option("--yes", "skip the confirmation of the cost, and of a folder that another machine began")
    .option("--dry-run", "validate, show the cost, send nothing")
    .option("--retry-failed", "submit failed rows again")
    .option("--resubmit-unknown", "submit rows again whose outcome is unknown");
  command
    .optionsGroup(OPTION_GROUPS.waiting)
    .option("--concurrency <n>", `requests under way at once (default: ${DEFAULT_CONCURRENCY})`);
  return addWaitOptions(command, "how long to wait for each result");
}

export function concurrencyOf({ concurrency }: BatchFlags): number {
  if (concurrency === undefined) return DEFAULT_CONCURRENCY;
  return wholeNumberOption("--concurrency", concurrency, { min: 1, max: MOST_CONCURRENCY });
}

/** Which rows of earlier runs are submitted again. */
export function againOf({
  retryFailed,
  resubmitUnknown,
}: BatchFlags): Record<"retryFailed" | "resubmitUnknown", boolean> {
  return { retryFailed: retryFailed === true, resubmitUnknown: resubmitUnknown === true };
}

/** What a person allows a batch to cost. */
export type Allowance = Pick<BatchSpec, "cap" | "yes" | "confirmAbove" | "matrix" | "allowUndocumented">;

/** The cap in credits; null if there is none. @throws UsageError */
function capOf({ maxCredits }: BatchFlags): number | null {
  return maxCredits === undefined ? null : wholeNumberOption("--max-credits", maxCredits, { min: 0 });
}

/** What the batch may cost. @throws UsageError */
export async function allowanceOf(flags: BatchFlags, session: Session): Promise<Allowance> {
  return {
    cap: capOf(flags),
    yes: flags.yes === true,
    confirmAbove: await session.settings.confirmAbove(),
    matrix: await session.matrix(),
    allowUndocumented: !flags.validate,
  };
}

/** Where the images go: always a folder. @throws UsageError */
export async function batchDestination(
  { output, name, overwrite = false, sidecar }: BatchFlags,
  { settings, context }: Session,
  how: { template?: string; takesColumns?: boolean } = {},
): Promise<OutputFolder> {
  const setting = await settings.get("output", { value: output, label: "--output" });
  return outputFolder({
    output: setting?.value,
    label: setting?.label ?? "--output",
    name,
    overwrite,
    sidecar: await settings.isOn("sidecar", sidecar),
    resolvePath: context.resolvePath,
    ...how,
  });
}
