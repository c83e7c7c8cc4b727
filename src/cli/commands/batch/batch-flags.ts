import type { Command } from "commander";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import { type BatchSpec, DEFAULT_CONCURRENCY, MOST_CONCURRENCY } from "../../../core/batch/batch-spec.ts";
import { type GivenFolder, type OutputFolder, outputFolder } from "../../../core/batch/row-files.ts";
import { wholeNumberOption } from "../../../lib/whole-number.ts";
import { addSubmitOptions, maxCreditsOf, type SubmitFlags } from "../../flags/generate-flags.ts";
import { addWaitOptions, requestTimeout, waitSettings } from "../../flags/wait-flags.ts";
import { OPTION_GROUPS } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";

/** Flags of every command that submits many requests. */
export interface BatchFlags extends SubmitFlags {
  sheet?: boolean;
  concurrency?: string;
  yes?: boolean;
  retryFailed?: boolean;
  resubmitUnknown?: boolean;
}

const FOLDER = { value: "<dir>", description: "folder for the images (default: the current one)" };

/** Adds the flags that follow those of the requests: output, cost, waiting and timeouts. */
export function addBatchOptions(command: Command): Command {
  addSubmitOptions(command, FOLDER, "file name")
    .option("--sheet", "make a contact sheet of the images, contact-sheet.png")
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

/** How a batch is run, as its flags say: all but its rows. */
export type BatchTerms = Omit<BatchSpec, "rows" | "shard" | "budgetOf" | "nameOf"> & {
  requestTimeoutMs: number | undefined;
  /** Whether a contact sheet is made. */
  sheet: boolean;
};

/** @param naming how images are named without `--name`, and whether a name may use columns @throws UsageError */
export async function batchTerms(flags: BatchFlags, session: Session, naming: Naming): Promise<BatchTerms> {
  const { concurrency } = flags;
  return {
    output: await folderOf(flags, session, naming),
    wait: waitSettings(flags, session),
    requestTimeoutMs: requestTimeout(flags),
    sheet: flags.sheet === true,
    concurrency:
      concurrency === undefined
        ? DEFAULT_CONCURRENCY
        : wholeNumberOption("--concurrency", concurrency, { min: 1, max: MOST_CONCURRENCY }),
    retryFailed: flags.retryFailed === true,
    resubmitUnknown: flags.resubmitUnknown === true,
    cap: maxCreditsOf(flags) ?? null,
    yes: flags.yes === true,
    confirmAbove: session.settings.confirmAbove(),
    matrix: await (await targetInEffect(session)).matrix(),
    allowUndocumented: !flags.validate,
  };
}

type Naming = Pick<GivenFolder, "template" | "takesColumns">;

async function folderOf(
  { output, name, overwrite = false, sidecar }: BatchFlags,
  { settings, context }: Session,
  naming: Naming,
): Promise<OutputFolder> {
  const setting = settings.get("output", { value: output, label: "--output" });
  return outputFolder({
    output: setting?.value,
    label: setting?.label ?? "--output",
    name,
    overwrite,
    sidecar: settings.isOn("sidecar", sidecar),
    resolvePath: context.resolvePath,
    ...naming,
  });
}
