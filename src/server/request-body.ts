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

/** Far more than any valid request: a prompt of 20,000 characters and 16 URLs. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * The JSON of a submit (section 4.1), or its refusal. A body that is not declared as JSON gets HTTP 415; one that is not
 * JSON, or larger than 1 MiB, gets HTTP 400. Never throws: if the client disconnects halfway, the body is not JSON.
 * @param parse throws for a text that is not JSON
 */
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
    // An empty body is invalid JSON as well.
    return { json: parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes ?? undefined)) };
  } catch {
    return { refused: invalidRequest("the body is not JSON") };
  }
}

/** A request's input; and its model, undefined if the matrix has none of that name. */
interface CheckedBody {
  input: RequestInput;
  model: Model | undefined;
}

/**
 * Checks a request body by the rules of the document; for an unknown model, only the bounds of fields. Unknown fields
 * are ignored. Two refusals have keys of section 7; for others the document has none.
 * @param invalid creates those replies from a clause
 */
export function checkBody(
  body: unknown,
  matrix: Matrix,
  defaultModel?: string,
  invalid: (why: string) => ServerReply = invalidRequest,
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
  const broken = brokenRule(subject, model === undefined ? [maxImages, ratio] : undefined)?.message;
  // Unlike the command line, the service wants the exact spelling.
  const { quality = "1K" } = input;
  const isMisspelt = model !== undefined && canonicalQuality(quality) !== quality;
  const why = broken ?? (isMisspelt ? "quality is not in the document's spelling" : undefined);
  return why === undefined ? { input, model } : { refused: invalid(why) };
}

/** The bytes of a body; null if the client disconnected halfway. */
export async function readBytes(body: Readable, maxBytes: number): Promise<Buffer | "too large" | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // The connection must stay open for the reply to a large body.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > maxBytes) break;
      chunks.push(chunk);
    }
    if (bytes <= maxBytes) return Buffer.concat(chunks);
    // The next request of this connection comes after the rest.
    body.resume();
    return "too large";
  } catch {
    return null;
  }
}

/** Ignores the parameters of the media type. */
function isJsonType(contentType = ""): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
