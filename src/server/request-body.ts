import type { Readable } from "node:stream";
import { isJsonObject } from "../lib/json.ts";
import { brokenRule, undocumentedModel } from "../models/check-request.ts";
import { canonicalQuality, type Matrix, type Model } from "../models/matrix.ts";
import { maxImages } from "../models/rules/images.ts";
import { promptLength } from "../models/rules/prompt.ts";
import { ratio } from "../models/rules/ratio.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { RequestInput } from "../task/request.ts";
import { areWireFields, fieldsFrom, malformedField, type WireFields } from "../task/request-fields.ts";
import type { ServiceRequest } from "./http.ts";
import { invalidRequest, refusal, type ServerReply } from "./reply.ts";

/** Maximum size of a body. Valid requests are smaller, because they have at most 20,000 characters and 16 URLs. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Reads the JSON of a submit (section 4.1). Refuses other content types, invalid JSON, or more than 1 MiB. */
export async function readJson(
  { headers, body }: ServiceRequest,
  parse: (text: string) => unknown = JSON.parse,
): Promise<{ json: unknown } | { refused: ServerReply }> {
  if (!isJsonType(headers["content-type"])) {
    return { refused: invalidRequest("the Content-Type is not application/json", { status: 415 }) };
  }
  const bytes = await readBytes(body, MAX_BODY_BYTES);
  if (bytes === "too large") return { refused: invalidRequest("the body is larger than 1 MiB") };
  try {
    return { json: parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes ?? undefined)) };
  } catch {
    return { refused: invalidRequest("the body is not JSON") };
  }
}

interface CheckedBody {
  input: RequestInput;
  /** undefined if the model is not in the matrix. */
  model: Model | undefined;
}

/** Ignores unknown fields. For an unknown model, checks only the prompt's length, number of images and ratio. */
export function checkBody(
  body: unknown,
  matrix: Matrix,
  defaultModel?: string,
  invalid: (problem: string) => ServerReply = invalidRequest,
): CheckedBody | { refused: ServerReply } {
  if (!isJsonObject(body)) return { refused: invalid("the body is not a JSON object") };
  const { prompt = null } = body;
  if (prompt === null || (typeof prompt === "string" && prompt.trim() === ""))
    return { refused: refusal("image_generation.error.empty_prompt") };
  if (typeof prompt !== "string" || !areWireFields(body))
    return { refused: invalid(`${malformedField(body) ?? "prompt"} has the wrong type`) };
  const wireFields: WireFields = body;
  const id = wireFields.model ?? defaultModel ?? "";
  const model = matrix.find((row) => row.id === id);
  const { image, ...fields } = fieldsFrom<WireFields>((name) => wireFields[name]);
  const input = { ...fields, prompt, ...(image !== undefined && { image: [image].flat() }) };
  const subject = { input, model: model ?? undocumentedModel(id), matrix, labels: FIELD_LABELS };
  if (brokenRule(subject, [promptLength]) !== undefined)
    return { refused: refusal("image_generation.error.prompt_too_long") };
  const ruleProblem = brokenRule(subject, model === undefined ? [maxImages, ratio] : undefined)?.message;
  // The service requires the exact spelling of a quality, unlike the command line.
  const { quality = "1K" } = input;
  const isMisspelt = model !== undefined && canonicalQuality(quality) !== quality;
  const problem =
    ruleProblem ?? (isMisspelt ? "quality must be spelled exactly as in the service's document" : undefined);
  return problem === undefined ? { input, model } : { refused: invalid(problem) };
}

/** Returns null if the client disconnected. */
export async function readBytes(body: Readable, maxBytes: number): Promise<Buffer | "too large" | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > maxBytes) break;
      chunks.push(chunk);
    }
    if (bytes <= maxBytes) return Buffer.concat(chunks);
    body.resume();
    return "too large";
  } catch {
    return null;
  }
}

function isJsonType(contentType = ""): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
