import { isJsonObject } from "../lib/json.ts";
import { estimateCost } from "../models/cost.ts";
import { DEFAULT_MODEL, MAX_IMAGES, type Matrix, type Model } from "../models/matrix.ts";
import { areSentFields, type SentFields } from "../task/request-fields.ts";
import { invalidRequest, refusal, type SandboxReply } from "./reply.ts";
import { brokenRule } from "./rules.ts";

/** A valid request with its defaults filled in. */
export interface SandboxRequest {
  /** As it was sent, with its directives. */
  prompt: string;
  model: Model;
  /** URLs of the reference images. */
  references: readonly string[];
  ratio: string;
  quality: string | undefined;
  imageCount: number;
  credits: number;
}

/** The cost of a request for which section 8 gives no price; the real service may charge more. */
const UNDOCUMENTED_CREDITS = 1;

/**
 * Reads a request body by sections 2.2 to 2.5 and 8. Ids, ratios and qualities count only in the document's
 * own spelling. Two refusals have keys of section 7; for the rest the document shows none.
 */
export function readRequest(
  body: unknown,
  matrix: Matrix,
): { valid: SandboxRequest } | { refused: SandboxReply } {
  const refused = (reply: SandboxReply) => ({ refused: reply });
  if (!isJsonObject(body)) return refused(invalidRequest("the body is not a JSON object"));
  if (isBlank(body.prompt)) return refused(refusal("image_generation.error.empty_prompt"));
  if (!isRequestBody(body)) return refused(invalidRequest("a field has the wrong type"));

  const { prompt, model: id = DEFAULT_MODEL } = body;
  const model = matrix.find((candidate) => candidate.id === id);
  if (model === undefined) return refused(invalidRequest("no such model"));
  if (Array.from(prompt).length > model.promptLimit) {
    return refused(refusal("image_generation.error.prompt_too_long"));
  }
  const broken = brokenRule(body, model);
  return broken === undefined ? { valid: toRequest(body, model) } : refused(invalidRequest(broken));
}

function toRequest({ prompt, ratio, quality, maxImages, image }: RequestBody, model: Model): SandboxRequest {
  const makesSeveral = (model.maxImages ?? 1) > 1;
  return {
    prompt,
    model,
    references: image === undefined ? [] : [image].flat(),
    ratio: ratio ?? model.defaultRatio,
    quality: quality ?? model.defaultQuality ?? undefined,
    imageCount: makesSeveral ? (maxImages ?? MAX_IMAGES.default) : 1,
    credits: estimateCost(model, quality).credits ?? UNDOCUMENTED_CREDITS,
  };
}

type RequestBody = SentFields & { prompt: string };

/** Other fields are ignored. */
function isRequestBody(body: Readonly<Record<string, unknown>>): body is RequestBody {
  return body.prompt !== undefined && areSentFields(body);
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.trim() === "");
}
