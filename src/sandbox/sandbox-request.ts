import { estimateCost } from "../models/cost.ts";
import { DEFAULT_MODEL, MAX_IMAGES, type Matrix, type Model } from "../models/matrix.ts";
import { invalidRequest, type ServerReply } from "../server/reply.ts";
import { checkBody, type RequestBody } from "../server/valid-request.ts";

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

/** Reads the body of a request to the sandbox. */
export function readRequest(
  body: unknown,
  matrix: Matrix,
): { valid: SandboxRequest } | { refused: ServerReply } {
  const checked = checkBody(body, matrix, DEFAULT_MODEL);
  if ("refused" in checked) return checked;
  const { request, model } = checked;
  return model ? { valid: toRequest(request, model) } : { refused: invalidRequest("no such model") };
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
