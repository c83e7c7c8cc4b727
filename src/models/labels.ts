/** What an error calls each value, so that it points to the place where the user set it. */
export type Labels = Readonly<
  Record<"prompt" | "model" | "ratio" | "quality" | "images" | "maxImages", string>
>;

export const FLAG_LABELS: Labels = {
  prompt: "the prompt",
  model: "--model",
  ratio: "--ratio",
  quality: "--quality",
  images: "--image",
  maxImages: "--max-images",
};
