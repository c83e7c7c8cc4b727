import type { Command } from "commander";
import { PLACEHOLDER_LIST } from "../../core/images/file-name.ts";
import { OPTION_GROUPS } from "../session/command.ts";
import { addOpenOption, addPreviewOption, type ViewFlags } from "./view-flags.ts";
import { addWaitOptions, type WaitFlags } from "./wait-flags.ts";

/** Flags about reference images. */
export interface ReferenceFlags {
  checkImages?: boolean;
  uploadCache?: boolean;
}

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
