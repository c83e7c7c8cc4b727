import { isJsonObject } from "../../lib/json.ts";
import { greatestCommonDivisor } from "../../lib/whole-number.ts";
import { MAX_IMAGES } from "../../models/matrix.ts";
import type { JobOptions } from "../../task/intent.ts";
import type { Order } from "../begin-task.ts";
import { type OpenAiError, wrongRequest } from "./openai-error.ts";

/** Which of the two operations: its events have its name. */
export type ImagesOperation = "image_generation" | "image_edit";

/** What a request in OpenAI's form asks for, and how it is to be answered. */
export interface ImagesOrder {
  order: Order;
  responseFormat: "b64_json" | "url";
  isStream: boolean;
}

/** Settings of OpenAI's own models. Other servers have no place for them, and are not sent any. */
const OF_OPENAI = [
  "quality",
  "background",
  "moderation",
  "output_format",
  "output_compression",
  "input_fidelity",
  "style",
] as const;

/** The document's qualities that are no word of OpenAI's. */
const QUALITIES: ReadonlySet<unknown> = new Set(["1K", "2K", "4K"]);

/** A field that is refused. Thrown while an order is read. `error` is what the client is answered. */
class Refusal extends Error {
  readonly error: OpenAiError;

  constructor(message: string, param: string) {
    super(message);
    this.error = wrongRequest(message, param);
  }
}

/**
 * Reads the fields of a request in OpenAI's form.
 * @param isOpenAi whether the generator is of that form too
 */
export function readOrder(
  fields: Readonly<Record<string, unknown>>,
  isOpenAi: boolean,
): ImagesOrder | { refused: OpenAiError } {
  try {
    return orderFrom(fields, isOpenAi);
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.error };
    throw error;
  }
}

function orderFrom(fields: Readonly<Record<string, unknown>>, isOpenAi: boolean): ImagesOrder {
  const prompt = text(fields, "prompt");
  if (prompt === undefined || prompt.trim() === "") throw new Refusal("prompt is missing.", "prompt");
  if (fields.mask !== undefined) throw new Refusal("mask is not supported.", "mask");
  const size = sizeOf(fields);
  const image = urlsOf(fields);
  const input = {
    prompt,
    model: text(fields, "model"),
    ratio: size.ratio,
    quality: QUALITIES.has(fields.quality) ? String(fields.quality) : undefined,
    maxImages: countOf(fields),
    ...(image.length > 0 && { image }),
  };
  const extra = isOpenAi ? ownFields(fields) : {};
  return {
    order: { input, options: { ...size.pixels, ...(Object.keys(extra).length > 0 && { fields: extra }) } },
    responseFormat: formatOf(fields),
    isStream: fields.stream === true || fields.stream === "true",
  };
}

function text(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Refusal(`${name} is not a string.`, name);
  return value;
}

/** A form has numbers as text. */
function countOf({ n }: Readonly<Record<string, unknown>>): number | undefined {
  if (n === undefined || n === null) return undefined;
  const count = Number(n);
  if (Number.isInteger(count) && count >= MAX_IMAGES.min && count <= MAX_IMAGES.max) return count;
  throw new Refusal(`n is not a whole number from ${MAX_IMAGES.min} to ${MAX_IMAGES.max}.`, "n");
}

const LONGEST_SIDE_PX = 16_384;

function sizeOf(fields: Readonly<Record<string, unknown>>): {
  ratio: string | undefined;
  pixels: Partial<Pick<JobOptions, "width" | "height">>;
} {
  const size = text(fields, "size");
  if (size === undefined || size === "auto") return { ratio: size, pixels: {} };
  const [, w, h] = /^(\d{1,5})x(\d{1,5})$/.exec(size) ?? [];
  const [width, height] = [Number(w), Number(h)];
  const isFit = (px: number) => px >= 1 && px <= LONGEST_SIDE_PX;
  if (!isFit(width) || !isFit(height)) throw new Refusal("size is not auto, or like 1024x1024.", "size");
  const divisor = greatestCommonDivisor(width, height);
  return { ratio: `${width / divisor}:${height / divisor}`, pixels: { width, height } };
}

function formatOf(fields: Readonly<Record<string, unknown>>): "b64_json" | "url" {
  const format = text(fields, "response_format") ?? "b64_json";
  if (format === "b64_json" || format === "url") return format;
  throw new Refusal("response_format is neither b64_json nor url.", "response_format");
}

/** Reference images as URLs: `image`, or OpenAI's `images: [{ image_url }]`. */
function urlsOf({ image, images }: Readonly<Record<string, unknown>>): string[] {
  return [image ?? images ?? []].flat().map((each) => {
    const url = isJsonObject(each) ? each.image_url : each;
    if (typeof url !== "string") throw new Refusal("An image is neither a URL nor a file.", "image");
    return url;
  });
}

function ownFields(fields: Readonly<Record<string, unknown>>): Record<string, string | number | boolean> {
  const names = OF_OPENAI.filter((name) => !(name === "quality" && QUALITIES.has(fields.quality)));
  const extra: Record<string, string | number | boolean> = {};
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      extra[name] = value;
  }
  return extra;
}
