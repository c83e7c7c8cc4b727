import { expect } from "vitest";

/** Whether a value may stand in a field. */
type Rule = (value: unknown) => boolean;

const text: Rule = (value) => typeof value === "string" && value !== "";
const oneOf =
  (...values: unknown[]): Rule =>
  (value) =>
    values.includes(value);
const whole =
  (least: number, most: number): Rule =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

/** `auto`, or a size that gpt-image-2 makes: steps of 16, 1:3 to 3:1, at most 3840 a side, and its bounds of pixels. */
const anySize: Rule = (value) => {
  if (value === "auto") return true;
  const [, w, h] = /^(\d+)x(\d+)$/.exec(String(value)) ?? [];
  const [width, height] = [Number(w), Number(h)];
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  const isStepped = width % 16 === 0 && height % 16 === 0;
  return (
    isStepped && long <= 3840 && long <= 3 * short && long * short >= 655_360 && long * short <= 8_294_400
  );
};

/** What OpenAI's reference says that both endpoints take for its models since gpt-image-1. */
const BOTH: Readonly<Record<string, Rule>> = {
  model: text,
  prompt: (value) => text(value) && String(value).length <= 32_000,
  n: whole(1, 10),
  size: anySize,
  quality: oneOf("low", "medium", "high", "auto"),
  background: oneOf("transparent", "opaque", "auto"),
  moderation: oneOf("low", "auto"),
  output_format: oneOf("png", "jpeg", "webp"),
  output_compression: whole(0, 100),
  stream: oneOf(true, false),
  partial_images: whole(0, 3),
  user: text,
};

const image: Rule = (value) => {
  const { image_url: url, ...rest } = value as Record<string, unknown>;
  return (
    /^(https?:\/\/|data:image\/(png|jpeg|webp);base64,)/.test(String(url)) && Object.keys(rest).length === 0
  );
};

const EDITS: Readonly<Record<string, Rule>> = {
  ...BOTH,
  images: (value) => Array.isArray(value) && value.length >= 1 && value.length <= 16 && value.every(image),
  input_fidelity: oneOf("high", "low"),
};

/** The models whose sizes are three. */
const THREE_SIZES = /^(gpt-image-1|gpt-image-1\.5|gpt-image-1-mini|chatgpt-image-latest)$/;
const threeSizes: Rule = oneOf("1024x1024", "1536x1024", "1024x1536", "auto");

/** Fails for a body that OpenAI would refuse: a field that it does not publish, or a value that the field does not take. */
export function expectPublished(body: Record<string, unknown>, endpoint: "generations" | "edits"): void {
  const fields = endpoint === "edits" ? EDITS : BOTH;
  const wrong = Object.entries(body).filter(([name, value]) => {
    const rule = name === "size" && THREE_SIZES.test(String(body.model)) ? threeSizes : fields[name];
    return !rule?.(value);
  });
  expect(wrong).toEqual([]);
  expect(body).toHaveProperty("prompt");
  if (endpoint === "edits") expect(body).toHaveProperty("images");
  // Frames on the way are for streams alone.
  if ("partial_images" in body) expect(body.stream).toBe(true);
}
