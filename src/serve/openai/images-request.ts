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
import { UNFIT_VALUE } from "../document-api.ts";
import { wrongRequest } from "./openai-error.ts";

/** A request in OpenAI's form, and the form of its answer. */
export interface ImagesRequest {
  clientRequest: ClientRequest;
  /** Its fields as they came. */
  fields: unknown;
  /** Reference images that came as files of a form. */
  files: Buffer[];
  responseFormat: "b64_json" | "url";
  isStream: boolean;
  /** Sentences about settings of OpenAI's that have no effect. */
  warnings: string[];
}

const text = (name: string) => z.nullish(z.string(`${name} is not a string.`));

const COUNT = { error: ({ input }: { input?: unknown }) => `n${describeRangeProblem(input, MAX_IMAGES)}.` };
const SIZE = "size is not auto, or like 1024x1024.";
const MAX_SIDE_PX = 16_384;

/** Width and height; empty for anything else. */
function parseSides(size: string): number[] {
  const sides = /^(\d{1,5})x(\d{1,5})$/.exec(size)?.slice(1).map(Number) ?? [];
  return sides.every((px) => px >= 1 && px <= MAX_SIDE_PX) ? sides : [];
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

/** A seed. -1 and null are none: a new one for each request. */
const toSeed = (value: unknown) => {
  if (value === null || value === -1 || value === "-1") return undefined;
  const digits = value instanceof ExactInteger ? value.digits : value;
  return parseSeed(digits) ?? digits;
};
const isSeedOrNone = (value: unknown) => value === undefined || parseSeed(value) !== null;
const SEED = { error: ({ input }: { input?: unknown }) => `seed${describeSeedProblem(input)}.` };

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** The fields that have a meaning for any generator. A form has numbers and booleans as text. */
const FIELDS = z.object(
  {
    prompt: z
      .string({ error: ({ input }) => `prompt is ${input == null ? "missing" : "not a string"}.` })
      .check(z.refine((prompt) => prompt.trim() !== "", "prompt is missing.")),
    mask: z.nullish(z.never("mask is not supported.")),
    size: z.nullish(
      z
        .string("size is not a string.")
        .check(z.refine((size) => size === "auto" || parseSides(size).length > 0, SIZE)),
    ),
    image: IMAGES,
    images: IMAGES,
    model: text("model"),
    n: z.nullish(
      z.pipe(
        z.transform((value: unknown) => (typeof value === "string" ? Number(value) : value)),
        z.int(COUNT).check(z.gte(MAX_IMAGES.min, COUNT), z.lte(MAX_IMAGES.max, COUNT)),
      ),
    ),
    response_format: z.nullish(z.enum(["b64_json", "url"], "response_format is neither b64_json nor url.")),
    stream: z.nullish(
      z.pipe(
        z.transform((value: unknown) => BOOLEANS.get(value) ?? value),
        z.boolean("stream is neither true nor false."),
      ),
    ),
    seed: z.optional(z.pipe(z.transform(toSeed), z.custom<WholeNumber | undefined>(isSeedOrNone, SEED))),
    negative_prompt: text("negative_prompt"),
  },
  "The body is not a JSON object.",
);

/** Settings of OpenAI's own models, which other servers are not sent, and their default values. null: each value. */
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

/** Images of a job that still runs are sent to no client. */
const NO_PARTIAL_IMAGES = "0";

/** The document's qualities that are no word of OpenAI's. */
const QUALITIES: ReadonlySet<unknown> = new Set(["1K", "2K", "4K"]);

/** The fields without a meaning of their own: those for the generator, and a warning for each that has no effect. */
function otherFields(
  body: Readonly<Record<string, unknown>>,
  isOpenAi: boolean,
): { fields: ProviderFields; warnings: string[] } {
  const fields: [string, unknown][] = [];
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === null || Object.hasOwn(FIELDS.def.shape, name)) continue;
    if (name === "quality" && QUALITIES.has(value)) continue;
    const defaults = name === "partial_images" ? [NO_PARTIAL_IMAGES] : OPENAI_SETTINGS.get(name);
    const isSent = name !== "partial_images" && (isOpenAi || defaults === undefined);
    if (isSent) fields.push([name, value]);
    else if (defaults && !defaults.includes(fieldText(value)))
      warnings.push(
        `${name} ${quoteValue(fieldText(value))} has no effect: this generator has no such setting.`,
      );
  }
  return { fields: Object.fromEntries(fields) as ProviderFields, warnings };
}

/** Names of the document's fields in OpenAI's form. */
const LABELS = { ratio: "size", maxImages: "n", negative: "negative_prompt", fields: "the request" };

/**
 * Reads a request in OpenAI's form.
 * @param isOpenAi whether the generator is of that form too
 * @throws OpenAiError
 */
export async function readImagesRequest(request: ServiceRequest, isOpenAi: boolean): Promise<ImagesRequest> {
  const { fields: body, files } = await readBody(request);
  const { data, error } = FIELDS.safeParse(body);
  if (error !== undefined) {
    const [{ path, message } = { path: [], message: "The body is not a JSON object." }] = error.issues;
    throw wrongRequest(message, path[0] === "images" ? "image" : (path[0]?.toString() ?? null));
  }
  const { prompt, size, n, model, seed, negative_prompt: negative, stream } = data;
  const { quality } = body;
  const [width = 0, height = 0] = parseSides(size ?? "");
  const divisor = greatestCommonDivisor(width, height);
  const image = data.image ?? data.images ?? [];
  const { fields, warnings } = otherFields(body, isOpenAi);
  const input = {
    prompt,
    model: model ?? undefined,
    ratio: width > 0 ? `${width / divisor}:${height / divisor}` : (size ?? undefined),
    quality: QUALITIES.has(quality) ? String(quality) : undefined,
    maxImages: n ?? undefined,
    seed,
    // An empty one is none.
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

/** OpenAI takes 16 images of 50 MB; this is room for any that a generator would take. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

interface Body {
  /** Its seed may be an `ExactInteger`. */
  fields: Record<string, unknown>;
  files: Buffer[];
}

/** The body of a request: JSON, or a form with files. @throws OpenAiError */
async function readBody({ headers, body }: ServiceRequest): Promise<Body> {
  const bytes = await readBytes(body, MAX_BODY_BYTES);
  if (bytes === null || bytes === "too large")
    throw wrongRequest("The body is larger than 64 MiB, or was cut off.");
  const type = headers["content-type"] ?? "";
  return /^multipart\/form-data/i.test(type)
    ? readForm(bytes, type)
    : { fields: readFields(bytes.toString("utf8")), files: [] };
}

/** @throws OpenAiError */
function readFields(text: string): Body["fields"] {
  const fields = exactOrNull(text);
  if (!isJsonObject(fields)) throw wrongRequest("The body is not a JSON object.");
  const isFit = ([name, value]: [string, unknown]) =>
    isJsonValue(value) || (name === "seed" && value instanceof ExactInteger);
  const unfit = Object.entries(fields).find((each) => !isFit(each))?.[0];
  if (unfit !== undefined) throw wrongRequest(`${unfit} ${UNFIT_VALUE}.`, unfit);
  return fields;
}

function exactOrNull(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}

const IMAGE_NAME = /^image(?:\[\d*\])?$/;
/** Texts in a form that stay texts, though they may look like a number. */
const TEXTS: ReadonlySet<string> = new Set(["prompt", "model", "negative_prompt", "seed", "user"]);

/** @throws OpenAiError */
async function readForm(bytes: Buffer, type: string): Promise<Body> {
  const response = new Response(new Uint8Array(bytes), { headers: { "content-type": type } });
  const form = await response.formData().catch(() => null);
  if (form === null) throw wrongRequest("The body is not a whole form.");
  const fields = new Map<string, unknown>();
  const files: Buffer[] = [];
  const urls: string[] = [];
  for (const [name, value] of form) {
    const isImage = IMAGE_NAME.test(name);
    if (typeof value !== "string") {
      if (!isImage) throw wrongRequest(`${name} cannot be given as a file.`, name);
      files.push(Buffer.from(await value.arrayBuffer()));
    } else if (isImage) urls.push(value);
    else if (fields.has(name)) throw wrongRequest(`${name} is given twice.`, name);
    else fields.set(name, TEXTS.has(name) ? value : fieldValue(value));
  }
  if (urls.length > 0) fields.set("image", urls);
  return { fields: Object.fromEntries(fields), files };
}
