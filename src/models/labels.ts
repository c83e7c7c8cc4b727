import type { FieldName } from "../task/request-fields.ts";

/** How an error names each value, so that it points to where the user set it. */
export type Labels = Readonly<Record<FieldName, string>>;

export const FLAG_LABELS: Labels = {
  prompt: "the prompt",
  model: "--model",
  ratio: "--ratio",
  quality: "--quality",
  image: "--image",
  maxImages: "--max-images",
};
