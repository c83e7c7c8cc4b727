import type { Labels } from "../models/labels.ts";
import type { RequestDraft } from "../models/request.ts";
import { wholeNumberOption } from "./options.ts";
import type { Session } from "./session.ts";

/** Flags that say what to generate. */
export interface DraftFlags {
  model?: string;
  ratio?: string;
  quality?: string;
  maxImages?: string;
  image?: string[];
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
