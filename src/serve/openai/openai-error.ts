import type { ErrorType } from "../../lib/error-types.ts";
import type { ServerReply } from "../../server/reply.ts";
import type { NotBegun } from "../begin-task.ts";
import type { TaskEnd } from "../end.ts";

interface ErrorFacts {
  type?: string;
  /** The field that is wrong. */
  param?: string | null;
  code?: string | null;
}

/** An error in OpenAI's form. A request that is refused throws it; a catcher may send `status` and `error`. */
export class OpenAiError extends Error {
  readonly status: number;
  readonly error: { message: string; type: string; param: string | null; code: string | null };

  constructor(status: number, message: string, facts: ErrorFacts = {}) {
    super(message);
    const {
      type = status >= 500 ? "server_error" : "invalid_request_error",
      param = null,
      code = null,
    } = facts;
    this.status = status;
    this.error = { message, type, param, code };
  }
}

/** A request that is wrong in itself. @param param the field */
export function wrongRequest(message: string, param: string | null = null): OpenAiError {
  return new OpenAiError(400, message, { param });
}

function noQuota(detail: string): OpenAiError {
  return new OpenAiError(429, detail, { type: "insufficient_quota", code: "insufficient_quota" });
}

/** The error of a request that no task was begun for. */
export function notBegun({ kind, field, detail }: NotBegun): OpenAiError {
  switch (kind) {
    case "invalid":
      return wrongRequest(detail, field);
    case "no such model":
      return new OpenAiError(404, detail, { param: "model", code: "model_not_found" });
    case "limit":
      return noQuota(detail);
    case "server":
    case "damaged key":
      return new OpenAiError(500, detail);
    case "other body":
      return new OpenAiError(422, detail);
  }
}

const MODERATION = /moderat|safety|content.polic/i;

/** The error of a task that has ended without an image. @param type of the error that it was refused with, if it was */
export function failedTask(
  type: ErrorType | null,
  { outcome, detail }: Extract<TaskEnd, { name: "failed" }>,
): OpenAiError {
  if (outcome === "unknown") return new OpenAiError(500, detail, { code: "outcome_unknown" });
  if (type === "insufficient_credits" || type === "subscription_required") return noQuota(detail);
  if (type === "auth_required") return new OpenAiError(503, detail, { code: "generator_account" });
  if (MODERATION.test(detail))
    return new OpenAiError(400, detail, { type: "image_generation_user_error", code: "moderation_blocked" });
  if (type === "invalid_request") return wrongRequest(detail);
  return new OpenAiError(500, detail, { code: "generation_failed" });
}

/**
 * The reply for an error. OpenAI's own clients send a request again after many of them, each time as a new task: this
 * server does that itself wherever it costs nothing.
 */
export function errorReply({ status, error }: OpenAiError): ServerReply {
  const note = `${error.code ?? error.type}: ${error.message}`;
  return { kind: "json", status, headers: { "x-should-retry": "false" }, body: { error }, note };
}
