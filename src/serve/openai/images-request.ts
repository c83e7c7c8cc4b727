import * as z from "zod/mini";
import { ExactInteger, parseExact, parseSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import { isJsonObject, isJsonValue } from "../../lib/json.ts";
import { describeRangeProblem, describeSeedProblem, greatestCommonDivisor } from "../../lib/whole-number.ts";
import { MAX_IMAGES } from "../../models/matrix.ts";
import { fieldValue } from "../../models/provider-fields.ts";
import { quoteValue } from "../../models/rules/rule.ts";
import type { ServiceRequest } from "../../server/http.ts";
import { readBytes } from "../../server/request-body.ts";
import { fieldText } from "../../task/request.ts";
import type { ProviderFields } from "../../task/request-fields.ts";
import type { ClientRequest } from "../client-request.ts";
import { INVALID_VALUE } from "../document-api.ts";
import { invalidRequestError } from "./openai-error.ts";

export interface ImagesRequest {
  clientRequest: ClientRequest;
  fields: unknown;
  files: Buffer[];
  responseFormat: "b64_json" | "url";
  isStream: boolean;
  warnings: string[];
}

const optionalText = (name: string) => z.nullish(z.string(`${name} is not a string.`));

const COUNT_ERROR = {
  error: ({ input }: { input?: unknown }) => `n${describeRangeProblem(input, MAX_IMAGES)}.`,
};
const SIZE_ERROR = "size must be auto, or have the form 1024x1024.";
const MAX_SIDE_PX = 16_384;

function parseSides(size: string): number[] {
  const sides = /^(\d{1,5})x(\d{1,5})$/.exec(size)?.slice(1).map(Number) ?? [];
  return sides.every((px) => px >= 1 && px <= MAX_SIDE_PX) ? sides : [];
}

const IMAGE_URL = z.pipe(
  z.transform((image: unknown) => (isJsonObject(image) ? image.image_url : image)),
  z.string("An image must be a URL or a file."),
);
const IMAGE_URLS = z.nullish(
  z.pipe(
    z.transform((images: unknown) => [images].flat()),
    z.array(IMAGE_URL),
  ),
);

/** Reads a seed. -1 and null mean a random seed. */
const toSeed = (value: unknown) => {
  if (value === null || value === -1 || value === "-1") return undefined;
  const digits = value instanceof ExactInteger ? value.digits : value;
  return parseSeed(digits) ?? digits;
};
const isSeedOrNone = (value: unknown) => value === undefined || parseSeed(value) !== null;
const SEED_ERROR = { error: ({ input }: { input?: unknown }) => `seed${describeSeedProblem(input)}.` };

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** Fields of OpenAI's API with the same meaning for every generator. Forms contain numbers and booleans as text. */
const FIELDS = z.object(
  {
    prompt: z
      .string({ error: ({ input }) => `prompt is ${input == null ? "missing" : "not a string"}.` })
      .check(z.refine((prompt) => prompt.trim() !== "", "prompt is missing.")),
    mask: z.nullish(z.never("mask is not supported.")),
    size: z.nullish(
      z
        .string("size is not a string.")
        .check(z.refine((size) => size === "auto" || parseSides(size).length > 0, SIZE_ERROR)),
    ),
    image: IMAGE_URLS,
    images: IMAGE_URLS,
    model: optionalText("model"),
    n: z.nullish(
      z.pipe(
        z.transform((value: unknown) => (typeof value === "string" ? Number(value) : value)),
        z.int(COUNT_ERROR).check(z.gte(MAX_IMAGES.min, COUNT_ERROR), z.lte(MAX_IMAGES.max, COUNT_ERROR)),
      ),
    ),
    response_format: z.nullish(z.enum(["b64_json", "url"], "response_format must be b64_json or url.")),
    stream: z.nullish(
      z.pipe(
        z.transform((value: unknown) => BOOLEANS.get(value) ?? value),
        z.boolean("stream must be true or false."),
      ),
    ),
    seed: z.optional(
      z.pipe(z.transform(toSeed), z.custom<WholeNumber | undefined>(isSeedOrNone, SEED_ERROR)),
    ),
    negative_prompt: optionalText("negative_prompt"),
  },
  "The body is not a JSON object.",
);

/**
 * Settings that are sent only to generators with OpenAI's API.
 * For other generators, these values are omitted without a warning (null: any value).
 */
const OPENAI_SETTINGS: ReadonlyMap<string, readonly string[] | null> = new Map([
  ["quality", ["auto", "standard"]],
  ["background", ["auto"]],
  ["moderation", ["auto"]],
  ["output_format", ["png"]],
  ["output_compression", ["100"]],
  ["input_fidelity", ["low"]],
  ["style", ["vivid"]],
  ["user", null],
]);

const NO_PARTIAL_IMAGES = "0";

const DOCUMENT_QUALITIES: ReadonlySet<unknown> = new Set(["1K", "2K", "4K"]);

/** Returns the other fields that the generator receives, and warnings about fields that have no effect. */
function splitOtherFields(
  body: Readonly<Record<string, unknown>>,
  isOpenAi: boolean,
): { fields: ProviderFields; warnings: string[] } {
  const fields: [string, unknown][] = [];
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === null || Object.hasOwn(FIELDS.def.shape, name)) continue;
    if (name === "quality" && DOCUMENT_QUALITIES.has(value)) continue;
    const defaults = name === "partial_images" ? [NO_PARTIAL_IMAGES] : OPENAI_SETTINGS.get(name);
    const isSent = name !== "partial_images" && (isOpenAi || defaults === undefined);
    if (isSent) fields.push([name, value]);
    else if (defaults && !defaults.includes(fieldText(value)))
      warnings.push(
        `${name} ${quoteValue(fieldText(value))} has no effect: this generator does not support it.`,
      );
  }
  return { fields: Object.fromEntries(fields) as ProviderFields, warnings };
}

const LABELS = { ratio: "size", maxImages: "n", negative: "negative_prompt", fields: "the request" };

/** @param isOpenAi whether the generator supports OpenAI's API @throws OpenAiError */
export async function readImagesRequest(request: ServiceRequest, isOpenAi: boolean): Promise<ImagesRequest> {
  const { fields: body, files } = await readBody(request);
  const { data, error } = FIELDS.safeParse(body);
  if (error !== undefined) {
    const [{ path, message } = { path: [], message: "The body is not a JSON object." }] = error.issues;
    throw invalidRequestError(message, path[0] === "images" ? "image" : (path[0]?.toString() ?? null));
  }
  const { prompt, size, n, model, seed, negative_prompt: negative, stream } = data;
  const { quality } = body;
  const [width = 0, height = 0] = parseSides(size ?? "");
  const divisor = greatestCommonDivisor(width, height);
  const image = data.image ?? data.images ?? [];
  const { fields, warnings } = splitOtherFields(body, isOpenAi);
  const input = {
    prompt,
    model: model ?? undefined,
    ratio: width > 0 ? `${width / divisor}:${height / divisor}` : (size ?? undefined),
    quality: DOCUMENT_QUALITIES.has(quality) ? String(quality) : undefined,
    maxImages: n ?? undefined,
    seed,
    negative: negative || undefined,
    ...(image.length > 0 && { image }),
    ...(Object.keys(fields).length > 0 && { fields }),
  };
  return {
    clientRequest: { input, labels: LABELS, ...(width > 0 && { size: { width, height } }) },
    fields: body,
    files,
    responseFormat: data.response_format ?? "b64_json",
    isStream: stream === true,
    warnings,
  };
}

/** Maximum size of a request's body, in bytes. The maximum is larger than any generator accepts. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

interface Body {
  fields: Record<string, unknown>;
  files: Buffer[];
}

async function readBody({ headers, body }: ServiceRequest): Promise<Body> {
  const bytes = await readBytes(body, MAX_BODY_BYTES);
  if (bytes === null || bytes === "too large")
    throw invalidRequestError("The body is larger than 64 MiB, or was cut off.");
  const type = headers["content-type"] ?? "";
  return /^multipart\/form-data/i.test(type)
    ? readForm(bytes, type)
    : { fields: readFields(bytes.toString("utf8")), files: [] };
}

/** @throws OpenAiError */
function readFields(text: string): Body["fields"] {
  const fields = parseExactOrNull(text);
  if (!isJsonObject(fields)) throw invalidRequestError("The body is not a JSON object.");
  const isSupported = ([name, value]: [string, unknown]) =>
    isJsonValue(value) || (name === "seed" && value instanceof ExactInteger);
  const invalidName = Object.entries(fields).find((field) => !isSupported(field))?.[0];
  if (invalidName !== undefined) throw invalidRequestError(`${invalidName} ${INVALID_VALUE}.`, invalidName);
  return fields;
}

function parseExactOrNull(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}

const IMAGE_FIELD = /^image(?:\[\d*\])?$/;
/** Fields of a form whose values are text even if they look like numbers. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(["prompt", "model", "negative_prompt", "seed", "user"]);

/** @throws OpenAiError */
async function readForm(bytes: Buffer, type: string): Promise<Body> {
  const response = new Response(new Uint8Array(bytes), { headers: { "content-type": type } });
  const form = await response.formData().catch(() => null);
  if (form === null) throw invalidRequestError("The form is incomplete.");
  const fields = new Map<string, unknown>();
  const files: Buffer[] = [];
  const urls: string[] = [];
  for (const [name, value] of form) {
    const isImage = IMAGE_FIELD.test(name);
    if (typeof value !== "string") {
      if (!isImage) throw invalidRequestError(`${name} cannot be a file.`, name);
      files.push(Buffer.from(await value.arrayBuffer()));
    } else if (isImage) urls.push(value);
    else if (fields.has(name)) throw invalidRequestError(`${name} occurs twice.`, name);
    else fields.set(name, TEXT_FIELDS.has(name) ? value : fieldValue(value));
  }
  if (urls.length > 0) fields.set("image", urls);
  return { fields: Object.fromEntries(fields), files };
}
