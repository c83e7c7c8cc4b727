import type { Readable } from "node:stream";
import { isJsonObject } from "../lib/json.ts";
import { brokenRule, unknownToUs } from "../models/check-request.ts";
import { canonicalQuality, type Matrix, type Model } from "../models/matrix.ts";
import { maxImages } from "../models/rules/images.ts";
import { promptLength } from "../models/rules/prompt.ts";
import { ratio } from "../models/rules/ratio.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { RequestInput } from "../task/request.ts";
import { areWireFields, fieldsFrom, misformedField, type WireFields } from "../task/request-fields.ts";
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
  const bytes = await bytesOf(body, MAX_BODY_BYTES);
  if (bytes === "too large") return { refused: invalidRequest("the body is larger than 1 MiB") };
  try {
    // Nothing is no JSON either.
    return { json: parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes ?? undefined)) };
  } catch {
    return { refused: invalidRequest("the body is not JSON") };
  }
}

/** What a request asks for; and its model, undefined if the matrix has none of that name. */
interface CheckedBody {
  input: RequestInput;
  model: Model | undefined;
}

/**
 * Checks a request body by the rules of the document; of a model without a row, only the bounds of its fields. Other fields
 * than the document's and a generator's are ignored. Two refusals have keys of section 7; for the rest the document shows none.
 * @param invalid the reply for the rest, by a clause that says why
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
    return { refused: invalid(`${misformedField(body) ?? "prompt"} has the wrong type`) };
  const sent: WireFields = body;
  const id = sent.model ?? defaultModel ?? "";
  const model = matrix.find((row) => row.id === id);
  const { image, ...fields } = fieldsFrom<WireFields>((name) => sent[name]);
  const input = { ...fields, prompt, ...(image !== undefined && { image: [image].flat() }) };
  const subject = { input, model: model ?? unknownToUs(id), matrix, labels: FIELD_LABELS };
  if (brokenRule(subject, [promptLength]) !== undefined)
    return { refused: refusal("image_generation.error.prompt_too_long") };
  const broken = brokenRule(subject, model === undefined ? [maxImages, ratio] : undefined)?.message;
  // The command line takes a quality in any case, the service does not.
  const { quality = "1K" } = input;
  const isMisspelt = model !== undefined && canonicalQuality(quality) !== quality;
  const why = broken ?? (isMisspelt ? "quality is not in the document's spelling" : undefined);
  return why === undefined ? { input, model } : { refused: invalid(why) };
}

/** The bytes of a body; null if the client disconnected halfway. A body that is too large gets its reply too. */
export async function bytesOf(body: Readable, maxBytes: number): Promise<Buffer | "too large" | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // Left before its end, the connection stays open for the reply.
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

/** Whether a media type is JSON, whatever its parameters are. */
function isJsonType(contentType = ""): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
