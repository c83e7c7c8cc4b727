import type { Size } from "../../models/requested-size.ts";
import type { SizeForm } from "../../task/intent.ts";

/** The fields that say how large an image is to be. */
export type SizeFields = Readonly<Record<string, string | number>>;

/** Source of a size: the request's ratio, and pixels. */
interface Sized {
  ratio: string | undefined;
  /** null: none is sent. */
  size: Size;
}

/** A size in one of the forms that servers know. @param model as the server names it; null: whatever it has */
export function sizeFields(job: Sized, model: string | null, form: SizeForm): SizeFields {
  switch (form) {
    case "WxH":
      return sizeFor(job, model);
    case "width,height":
      return { ...job.size };
    case "aspect_ratio":
      return job.ratio === undefined ? {} : { aspect_ratio: job.ratio };
  }
}

/** OpenAI's own models, also behind a gateway that puts a name before theirs. */
export function isGptImage(model: string | null): boolean {
  return /(?:^|\/)(?:chat)?gpt-image-/.test(model ?? "");
}

function sizeFor({ ratio, size }: Sized, model: string | null): SizeFields {
  if (isGptImage(model) && ratio === "auto") return { size: "auto" };
  if (size === null) return {};
  const { width, height } = size;
  const [w, h] = isGptImage(model) ? allowedSize(model ?? "", width, height) : [width, height];
  return { size: `${w}x${h}` };
}

/** The only sizes of the models before gpt-image-2. */
const FIXED_SIZES = [
  [1024, 1024],
  [1536, 1024],
  [1024, 1536],
] as const;

/** Limits of gpt-image-2 and later models, which support any size within them. */
const STEP_PX = 16;
const MAX_PX = 3840;
const WIDEST = 3;
const FEWEST_PIXELS = 655_360;
const MAX_PIXELS = 8_294_400;

/** The size nearest to the wanted one that the model makes: first by ratio, then by pixels. */
function allowedSize(model: string, width: number, height: number): readonly [number, number] {
  const sizes = /gpt-image-[2-9]/.test(model) ? sizesNear(width, height) : FIXED_SIZES;
  const distance = ([w, h]: readonly [number, number]) => Math.abs(Math.log((w / h) * (height / width)));
  return sizes.reduce((best, size) => (distance(size) < distance(best) ? size : best));
}

/** The allowed sizes around the wanted one, once that has been brought within the limits. */
function sizesNear(width: number, height: number): readonly (readonly [number, number])[] {
  const ratio = Math.min(WIDEST, Math.max(1 / WIDEST, width / height));
  const [least, most] = [Math.sqrt(FEWEST_PIXELS), Math.sqrt(MAX_PIXELS)];
  const mean = Math.min(most, Math.max(least, Math.sqrt(width * height)));
  const longest = Math.min(MAX_PX, mean * Math.sqrt(Math.max(ratio, 1 / ratio)));
  const [w, h] = ratio >= 1 ? [longest, longest / ratio] : [longest * ratio, longest];
  const near = (px: number) => [Math.floor(px / STEP_PX) * STEP_PX, Math.ceil(px / STEP_PX) * STEP_PX];
  return near(w)
    .flatMap((x) => near(h).map((y) => [x, y] as const))
    .filter(isAllowed);
}

function isAllowed([w, h]: readonly [number, number]): boolean {
  const pixels = w * h;
  const isWithin = Math.max(w, h) <= MAX_PX && pixels >= FEWEST_PIXELS && pixels <= MAX_PIXELS;
  return isWithin && Math.max(w / h, h / w) <= WIDEST;
}
