import type { Size } from "../../models/requested-size.ts";
import type { SizeForm } from "../../task/intent.ts";

export type SizeFields = Readonly<Record<string, string | number>>;

interface SizeRequest {
  ratio: string | undefined;
  /** Size in pixels, or null to send no size. */
  size: Size;
}

/** @param model the server's name for the model, or null for the server's default model */
export function sizeFields(job: SizeRequest, model: string | null, form: SizeForm): SizeFields {
  switch (form) {
    case "WxH":
      return sizeField(job, model);
    case "width,height":
      return { ...job.size };
    case "aspect_ratio":
      return job.ratio === undefined ? {} : { aspect_ratio: job.ratio };
  }
}

/** Whether a model is one of OpenAI's, even if a gateway adds a prefix to its name. */
export function isGptImage(model: string | null): boolean {
  return /(?:^|\/)(?:chat)?gpt-image-/.test(model ?? "");
}

function sizeField({ ratio, size }: SizeRequest, model: string | null): SizeFields {
  if (isGptImage(model) && ratio === "auto") return { size: "auto" };
  if (size === null) return {};
  const { width, height } = size;
  const [w, h] = isGptImage(model) ? allowedSize(model ?? "", width, height) : [width, height];
  return { size: `${w}x${h}` };
}

/** The only sizes that OpenAI's models before gpt-image-2 support. */
const FIXED_SIZES = [
  [1024, 1024],
  [1536, 1024],
  [1024, 1536],
] as const;

/** Limits of gpt-image-2 and later models, which support every size within these limits. */
const STEP_PX = 16;
const MAX_PX = 3840;
const MAX_RATIO = 3;
const MIN_PIXELS = 655_360;
const MAX_PIXELS = 8_294_400;

/** Returns the supported size with the most similar ratio. */
function allowedSize(model: string, width: number, height: number): readonly [number, number] {
  const sizes = /gpt-image-[2-9]/.test(model) ? sizesNear(width, height) : FIXED_SIZES;
  const distance = ([w, h]: readonly [number, number]) => Math.abs(Math.log((w / h) * (height / width)));
  return sizes.reduce((best, size) => (distance(size) < distance(best) ? size : best));
}

/** Returns the supported sizes next to the requested size, which is first reduced or enlarged to the limits. */
function sizesNear(width: number, height: number): readonly (readonly [number, number])[] {
  const ratio = Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, width / height));
  const [minMeanSide, maxMeanSide] = [Math.sqrt(MIN_PIXELS), Math.sqrt(MAX_PIXELS)];
  const meanSide = Math.min(maxMeanSide, Math.max(minMeanSide, Math.sqrt(width * height)));
  const longest = Math.min(MAX_PX, meanSide * Math.sqrt(Math.max(ratio, 1 / ratio)));
  const [w, h] = ratio >= 1 ? [longest, longest / ratio] : [longest * ratio, longest];
  const nearestSteps = (px: number) => [
    Math.floor(px / STEP_PX) * STEP_PX,
    Math.ceil(px / STEP_PX) * STEP_PX,
  ];
  return nearestSteps(w)
    .flatMap((x) => nearestSteps(h).map((y) => [x, y] as const))
    .filter(isAllowed);
}

function isAllowed([w, h]: readonly [number, number]): boolean {
  const pixels = w * h;
  const isWithin = Math.max(w, h) <= MAX_PX && pixels >= MIN_PIXELS && pixels <= MAX_PIXELS;
  return isWithin && Math.max(w / h, h / w) <= MAX_RATIO;
}
