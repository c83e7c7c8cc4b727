import type { Command } from "commander";
import { PLACEHOLDER_LIST } from "../../core/images/file-name.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import { OPTION_GROUPS } from "../session/command.ts";
import { addOpenOption, addPreviewOption, type ViewFlags } from "./view-flags.ts";
import { addWaitOptions, type WaitFlags } from "./wait-flags.ts";

/** Flags about reference images. */
export interface ReferenceFlags {
  checkImages?: boolean;
  uploadCache?: boolean;
}

/** Flags of every command that submits requests. */
export interface SubmitFlags extends WaitFlags {
  output?: string;
  name?: string;
  overwrite?: boolean;
  sidecar?: boolean;
  dryRun?: boolean;
  maxCredits?: string;
  validate: boolean;
}

/** Flags of every command that submits one request. */
export interface GenerateFlags extends SubmitFlags, ViewFlags, ReferenceFlags {
  wait: boolean;
  reuse?: boolean;
  again?: boolean;
}

/**
 * Adds the flags that follow those of the request: the last of these, and where the images go.
 * @param output the value of `--output`, and what it is
 * @param name what `--name` gives
 */
export function addSubmitOptions(
  command: Command,
  output: { value: string; description: string },
  name: string,
): Command {
  return command
    .option("--no-validate", "skip validation against the model matrix")
    .optionsGroup(OPTION_GROUPS.output)
    .option(`-o, --output ${output.value}`, output.description)
    .option("--name <template>", `${name}, of ${PLACEHOLDER_LIST}`)
    .option("--overwrite", "replace existing files")
    .option("--sidecar", "write the request and its cost to <image>.json, beside each image");
}

const ANYWHERE = { value: "<path>", description: "file, folder (ends in /), or - for standard output" };

/** Adds the flags that follow those of one request: output, cost, waiting and timeouts. */
export function addGenerateOptions(command: Command): Command {
  addOpenOption(addPreviewOption(addSubmitOptions(command, ANYWHERE, "file name in a folder")))
    .optionsGroup(OPTION_GROUPS.cost)
    .option("--dry-run", "validate, show the request and its cost, send nothing")
    .option("--max-credits <n>", "refuse to spend more than <n> credits")
    .optionsGroup(OPTION_GROUPS.waiting)
    .option("--no-wait", "return once the task is accepted");
  return addWaitOptions(command, "how long to wait for the result")
    .option("--check-images", "check type and size of reference images with HEAD, before anything is charged")
    .option("--no-upload-cache", "upload files given as --image again, uploaded before or not");
}

/** `--max-credits` in credits; undefined: no limit. @throws UsageError */
export function maxCreditsOf({ maxCredits }: Pick<SubmitFlags, "maxCredits">): number | undefined {
  return maxCredits === undefined ? undefined : wholeNumberOption("--max-credits", maxCredits, { min: 0 });
}
