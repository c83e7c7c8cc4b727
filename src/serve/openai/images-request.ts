import * as z from "zod/mini";
import { isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { greatestCommonDivisor } from "../../lib/whole-number.ts";
import { MAX_IMAGES } from "../../models/matrix.ts";
import type { ServiceRequest } from "../../server/http.ts";
import { bytesOf } from "../../server/request-body.ts";
import type { ProviderFields } from "../../task/request-fields.ts";
import type { Order } from "../begin-task.ts";
import { wrongRequest } from "./openai-error.ts";

/** What a request in OpenAI's form asks for, and how it is to be answered. */
export interface ImagesRequest {
  order: Order;
  /** Its fields as they came. */
  given: unknown;
  /** Reference images that came as files of a form. */
  files: Buffer[];
  responseFormat: "b64_json" | "url";
  isStream: boolean;
}

const text = (name: string) => z.nullish(z.string(`${name} is not a string.`));

const COUNT = `n is not a whole number from ${MAX_IMAGES.min} to ${MAX_IMAGES.max}.`;
const SIZE = "size is not auto, or like 1024x1024.";
const LONGEST_SIDE_PX = 16_384;

/** Width and height; empty for anything else. */
function sidesOf(size: string): number[] {
  const sides = /^(\d{1,5})x(\d{1,5})$/.exec(size)?.slice(1).map(Number) ?? [];
  return sides.every((px) => px >= 1 && px <= LONGEST_SIDE_PX) ? sides : [];
}

/** A URL, or OpenAI's `{ image_url }`. */
const IMAGE = z.pipe(
  z.transform((each: unknown) => (isJsonObject(each) ? each.image_url : each)),
  z.string("An image is neither a URL nor a file."),
);
const IMAGES = z.nullish(
  z.pipe(
    z.transform((images: unknown) => [images].flat()),
    z.array(IMAGE),
  ),
);

/** OpenAI's fields. The settings of its own models are read apart; any other is ignored. A form has numbers as text. */
const FIELDS = z.looseObject(
  {
    prompt: z
      .string({ error: ({ input }) => `prompt is ${input == null ? "missing" : "not a string"}.` })
      .check(z.refine((prompt) => prompt.trim() !== "", "prompt is missing.")),
    mask: z.optional(z.never("mask is not supported.")),
    size: z.nullish(
      z
        .string("size is not a string.")
        .check(z.refine((size) => size === "auto" || sidesOf(size).length > 0, SIZE)),
    ),
    image: IMAGES,
    images: IMAGES,
    model: text("model"),
    n: z.nullish(
      z.pipe(
        z.transform(Number),
        z.int(COUNT).check(z.gte(MAX_IMAGES.min, COUNT), z.lte(MAX_IMAGES.max, COUNT)),
      ),
    ),
    response_format: z.nullish(z.enum(["b64_json", "url"], "response_format is neither b64_json nor url.")),
  },
  "The body is not a JSON object.",
);

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

/** Settings for a generator of OpenAI's form, as they are given. */
function settingsOf(fields: Readonly<Record<string, unknown>>): ProviderFields {
  const isSetting = (name: string) => ["string", "number", "boolean"].includes(typeof fields[name]);
  const names = OF_OPENAI.filter(isSetting).filter(
    (name) => name !== "quality" || !QUALITIES.has(fields.quality),
  );
  return Object.fromEntries(names.map((name) => [name, fields[name] as string]));
}

/**
 * Reads a request in OpenAI's form.
 * @param isOpenAi whether the generator is of that form too
 * @throws OpenAiError
 */
export async function readImagesRequest(request: ServiceRequest, isOpenAi: boolean): Promise<ImagesRequest> {
  const { given, files } = await readBody(request);
  const { data, error } = FIELDS.safeParse(given);
  if (error !== undefined) {
    const [{ path, message } = { path: [], message: "The body is not a JSON object." }] = error.issues;
    throw wrongRequest(message, path[0] === "images" ? "image" : (path[0]?.toString() ?? null));
  }
  const { prompt, size, quality, stream, n, model } = data;
  const [width = 0, height = 0] = sidesOf(size ?? "");
  const divisor = greatestCommonDivisor(width, height);
  const image = data.image ?? data.images ?? [];
  const input = {
    prompt,
    model: model ?? undefined,
    ratio: width > 0 ? `${width / divisor}:${height / divisor}` : (size ?? undefined),
    quality: QUALITIES.has(quality) ? String(quality) : undefined,
    maxImages: n ?? undefined,
    ...(image.length > 0 && { image }),
  };
  const fields = isOpenAi ? settingsOf(data) : {};
  const options = {
    ...(width > 0 && { width, height }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
  return {
    order: { input, options },
    given,
    files,
    responseFormat: data.response_format ?? "b64_json",
    isStream: stream === true || stream === "true",
  };
}

/** OpenAI takes 16 images of 50 MB; this is room for any that a generator would take. */
const LARGEST_BODY_BYTES = 64 * 1024 * 1024;

/** The body of a request: JSON, or a form with files. @throws OpenAiError */
async function readBody({ headers, body }: ServiceRequest): Promise<{ given: unknown; files: Buffer[] }> {
  const bytes = await bytesOf(body, LARGEST_BODY_BYTES);
  if (bytes === null || bytes === "too large")
    throw wrongRequest("The body is larger than 64 MiB, or was cut off.");
  const type = headers["content-type"] ?? "";
  if (!/^multipart\/form-data/i.test(type)) return { given: jsonOrNull(bytes.toString("utf8")), files: [] };
  const response = new Response(new Uint8Array(bytes), { headers: { "content-type": type } });
  const form = await response.formData().catch(() => null);
  if (form === null) throw wrongRequest("The body is not a whole form.");
  const given: Record<string, unknown> = {};
  const files: Buffer[] = [];
  for (const [name, value] of form) {
    if (typeof value === "string") given[name] = value;
    else if (/^image(?:\[\d*\])?$/.test(name)) files.push(Buffer.from(await value.arrayBuffer()));
    else throw wrongRequest(`${name} cannot be given as a file.`, name);
  }
  return { given, files };
}
