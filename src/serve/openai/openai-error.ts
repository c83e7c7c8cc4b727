import type { ErrorType } from "../../lib/error-types.ts";
import type { ServerReply } from "../../server/reply.ts";
import type { NotBegun } from "../begin-task.ts";
import type { TaskEnd } from "../end.ts";

/** An error in OpenAI's form. */
export interface OpenAiError {
  status: number;
  error: { message: string; type: string; param: string | null; code: string | null };
}

function openAiError(
  status: number,
  type: string,
  message: string,
  { param = null, code = null }: { param?: string | null; code?: string | null } = {},
): OpenAiError {
  return { status, error: { message, type, param, code } };
}

export const WRONG_KEY = openAiError(401, "invalid_request_error", "Incorrect API key provided.", {
  code: "invalid_api_key",
});

/** A request that is wrong in itself. @param param the field */
export function wrongRequest(message: string, param: string | null = null, status = 400): OpenAiError {
  return openAiError(status, "invalid_request_error", message, { param });
}

export const NO_SUCH_PATH = wrongRequest("Unknown request URL.", null, 404);

/** The error of a request that no task was begun for. */
export function notBegun({ kind, field, detail }: NotBegun): OpenAiError {
  switch (kind) {
    case "invalid":
      return wrongRequest(detail, field);
    case "no such model":
      return openAiError(404, "invalid_request_error", detail, { param: "model", code: "model_not_found" });
    case "limit":
      return openAiError(429, "insufficient_quota", detail, { code: "insufficient_quota" });
    case "server":
    case "damaged key":
      return openAiError(500, "server_error", detail);
    case "other body":
      return wrongRequest(detail, null, 422);
  }
}

const MODERATION = /moderat|safety|content.polic/i;

/** The error of a task that has ended without an image. @param type of the error that it was refused with, if it was */
export function failedTask(
  type: ErrorType | null,
  { outcome, detail }: Extract<TaskEnd, { name: "failed" }>,
): OpenAiError {
  if (outcome === "unknown") return openAiError(500, "server_error", detail, { code: "outcome_unknown" });
  if (type === "insufficient_credits" || type === "subscription_required")
    return openAiError(429, "insufficient_quota", detail, { code: "insufficient_quota" });
  if (type === "auth_required")
    return openAiError(503, "server_error", detail, { code: "generator_account" });
  if (MODERATION.test(detail))
    return openAiError(400, "image_generation_user_error", detail, { code: "moderation_blocked" });
  if (type === "invalid_request") return wrongRequest(detail);
  return openAiError(500, "server_error", detail, { code: "generation_failed" });
}

/**
 * The reply for an error. OpenAI's own clients send a request again after many of them, each time as a new task: this
 * server does that itself wherever it costs nothing.
 */
export function errorReply({ status, error }: OpenAiError): ServerReply {
  const note = `${error.code ?? error.type}: ${error.message}`;
  return { kind: "json", status, headers: { "x-should-retry": "false" }, body: { error }, note };
}
