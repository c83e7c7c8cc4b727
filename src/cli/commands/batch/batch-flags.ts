import type { Command } from "commander";
import type { BatchCall } from "../../../client/batch-operations.ts";
import { DEFAULT_CONCURRENCY, MOST_CONCURRENCY } from "../../../core/batch/batch-spec.ts";
import { wholeNumberOption } from "../../../lib/whole-number.ts";
import { addSubmitOptions, maxCreditsOf, type SubmitFlags } from "../../flags/generate-flags.ts";
import { addWaitOptions, waitSettings } from "../../flags/wait-flags.ts";
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

/** Options of a batch as values, but for those of its rows. @throws UsageError */
export async function batchCall(
  flags: BatchFlags,
  session: Session,
): Promise<Omit<BatchCall, "values" | "labels">> {
  const { name, overwrite, yes, retryFailed, resubmitUnknown, dryRun, validate, concurrency } = flags;
  const { settings } = session;
  const output = settings.get("output", { value: flags.output, label: "--output" });
  const limits = { min: 1, max: MOST_CONCURRENCY };
  return {
    ...{ name, overwrite, yes, retryFailed, resubmitUnknown, dryRun, validate },
    output: output?.value,
    outputLabel: output?.label,
    sidecar: settings.isOn("sidecar", flags.sidecar),
    wait: waitSettings(flags, session),
    concurrency:
      concurrency === undefined ? undefined : wholeNumberOption("--concurrency", concurrency, limits),
    maxCredits: maxCreditsOf(flags),
    matrix: await session.matrix(),
  };
}
