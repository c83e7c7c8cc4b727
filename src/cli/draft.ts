import type { Command } from "commander";
import type { Labels } from "../models/labels.ts";
import type { RequestDraft } from "../models/request.ts";
import { collect, wholeNumberOption } from "./options.ts";
import type { Session } from "./session.ts";

/** Flags that say what to generate. */
export interface DraftFlags {
  model?: string;
  ratio?: string;
  quality?: string;
  maxImages?: string;
  image?: string[];
}

/** Adds those flags to a command. */
export function addDraftOptions(command: Command): Command {
  return command
    .option("-m, --model <id>", "model, see imggen models (default: vendor1/alpha-2)")
    .option("-r, --ratio <w:h>", "aspect ratio, such as 16:9, or auto")
    .option("-q, --quality <quality>", "basic, high, 1K, 2K or 4K, as the model allows")
    .option("-n, --max-images <n>", "number of images, 1 to 15, as the model allows")
    .option("-i, --image <url>", "reference image; repeat it for several", collect);
}

export interface Draft {
  values: Omit<RequestDraft, "prompt">;
  /** Where each value came from, for messages about it. */
  labels: Partial<Labels>;
}

/** A request's values from flags, environment and config; what nobody set stays out. @throws UsageError */
export async function readDraft(flags: DraftFlags, { settings }: Session): Promise<Draft> {
  const model = await settings.get("model", { value: flags.model, label: "--model" });
  const ratio = await settings.get("ratio", { value: flags.ratio, label: "--ratio" });
  const quality = await settings.get("quality", { value: flags.quality, label: "--quality" });
  const { maxImages: most, image: images } = flags;
  const maxImages = most === undefined ? undefined : wholeNumberOption("--max-images", most, { min: 0 });
  return {
    values: { model: model?.value, ratio: ratio?.value, quality: quality?.value, images, maxImages },
    labels: {
      ...(model && { model: model.label }),
      ...(ratio && { ratio: ratio.label }),
      ...(quality && { quality: quality.label }),
    },
  };
}
