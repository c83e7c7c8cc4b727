import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { decodeImages } from "./found-images.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import type { Job, Provider } from "./provider.ts";
import { ProviderServer } from "./provider-http.ts";
import { referenceFiles, toBase64 } from "./reference-files.ts";
import { parseReplyJson } from "./reply-json.ts";
import {
  type Form,
  imagesOrNone,
  type JobContext,
  modelNamed,
  type ReadReply,
  serviceProvider,
} from "./service.ts";
import type { StoredReply } from "./stored-reply.ts";

/** Provider for Gemini's native API: `POST <base>/models/<model>:generateContent`, whose reply contains the image. */
export function geminiProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  return serviceProvider(setup, new ProviderServer(setup, deps), FORM, deps);
}

const FORM: Form = {
  supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "fields"],
  check: modelNamed(/^(?:models\/)?[\w-][\w.-]*$/, "Gemini needs a model name such as gemini-3-pro-image."),
  request: async (job, context) => ({
    path: `/models/${modelName(job)}:generateContent`,
    body: await requestBody(job, context),
  }),
  read: readReply,
  models: { path: "/models?pageSize=1000", namesIn: modelNames },
};

/** @throws ProviderError for a reference image that cannot be used */
async function requestBody(job: Job, context: JobContext): Promise<Record<string, unknown>> {
  const { prompt, ratio, quality } = job.request;
  const files = await referenceFiles(job, context);
  const images = files.map((file) => ({ inlineData: { mimeType: file.mediaType, data: toBase64(file) } }));
  const hasSize = IMAGE_SIZES.test(quality ?? "") && supportsSize(modelName(job));
  if (quality !== undefined && !hasSize)
    context.onWarning?.(
      `${modelName(job)} does not support the quality ${quality}, so the quality was not sent.`,
    );
  const imageConfig = {
    ...(ratio !== undefined && ratio !== "auto" && { aspectRatio: ratio }),
    ...(hasSize && { imageSize: quality }),
  };
  return {
    contents: [{ role: "user", parts: [{ text: prompt }, ...images] }],
    generationConfig: {
      responseModalities: ["IMAGE"],
      ...(Object.keys(imageConfig).length > 0 && { imageConfig }),
      ...job.options.fields,
    },
  };
}

function modelName({ options }: Pick<Job, "options">): string {
  return (options.model ?? "").replace(/^models\//, "");
}

const IMAGE_SIZES = /^[124]K$/;

function supportsSize(name: string): boolean {
  return !name.startsWith("gemini-2.5-");
}

function modelNames(json: unknown): string[] | null {
  const { models } = fieldsOf(json);
  if (!Array.isArray(models)) return null;
  const names = models.map((model) => fieldsOf(model).name).filter((name) => typeof name === "string");
  return names.map((name) => name.replace(/^models\//, "")).filter((name) => /^gemini-.*image/.test(name));
}

/** Skips the images in the model's thoughts. */
function readReply(reply: StoredReply): ReadReply | null {
  const json = parseReplyJson(reply);
  if (json === undefined) return null;
  const fields = fieldsOf(json);
  const candidates = [fields.candidates].flat().map(fieldsOf);
  const parts = candidates.flatMap(({ content }) => fieldsOf(content).parts).filter(isJsonObject);
  const results = parts.filter(({ thought }) => thought !== true);
  const images = decodeImages(results.map((part) => fieldsOf(part.inlineData ?? part.inline_data).data));
  const texts = results.map(({ text }) => text).filter((text) => typeof text === "string");
  const error = missingImageError(fields, candidates[0] ?? {}, texts.join(" "));
  return imagesOrNone(
    images,
    fields.usageMetadata ?? fields.usage_metadata,
    error ?? reply.body.toString("utf8"),
  );
}

/** Reasons for refused content. A retry would be refused too. */
const REFUSAL_REASONS = /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION/;

/** Returns an API error in JSON, or null. Also reads snake case, because some gateways rename the fields. */
function missingImageError(
  fields: Record<string, unknown>,
  candidate: Record<string, unknown>,
  text: string,
): string | null {
  const feedback = fieldsOf(fields.promptFeedback ?? fields.prompt_feedback);
  const blockReason = feedback.blockReason ?? feedback.block_reason;
  const blockReasonMessage = feedback.blockReasonMessage ?? feedback.block_reason_message;
  const finishReason = candidate.finishReason ?? candidate.finish_reason;
  const finishMessage = candidate.finishMessage ?? candidate.finish_message;
  const reason = blockReason ?? finishReason;
  if (typeof reason !== "string") return null;
  const isRefused = blockReason !== undefined || REFUSAL_REASONS.test(reason);
  const explanation = [blockReasonMessage, finishMessage, text].find(
    (value) => typeof value === "string" && value !== "",
  );
  const message = explanation === undefined ? reason : `${reason}: ${explanation}`;
  return JSON.stringify({ error: { message, code: isRefused ? "moderation" : "no_image" } });
}
