import type { ErrorType } from "../../lib/error-types.ts";
import { toSentence } from "../../lib/short-text.ts";
import type { ServerReply } from "../../server/reply.ts";
import { decidingRequest, displayId, getAnswer, type Task } from "../../task/task.ts";
import type { BeginRefusal } from "../begin-task.ts";
import { isUnsent, type TaskEnd } from "../end.ts";

interface ErrorFacts {
  type?: string;
  param?: string | null | undefined;
  code?: string | null;
}

/** Error in the form of OpenAI's API. `status` is the HTTP status, and `error` is part of the JSON body. */
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

export function invalidRequestError(message: string, param: string | null = null): OpenAiError {
  return new OpenAiError(400, message, { param });
}

function quotaError(detail: string): OpenAiError {
  return new OpenAiError(429, detail, { type: "insufficient_quota", code: "insufficient_quota" });
}

function unsentError(type: ErrorType | null, detail: string): OpenAiError {
  switch (type) {
    case "insufficient_credits":
    case "subscription_required":
    case "budget_exceeded":
      return quotaError(detail);
    case "auth_required":
      return new OpenAiError(503, detail, { code: "generator_account" });
    case "save_failed":
      return new OpenAiError(503, detail, { code: "disk" });
    case "network":
    case "service_error":
      return new OpenAiError(503, detail, { code: "generator_unreachable" });
    default:
      return new OpenAiError(503, detail, { code: "not_sent" });
  }
}

export function notBegunError({ kind, type, field, detail }: BeginRefusal): OpenAiError {
  switch (kind) {
    case "invalid":
      return invalidRequestError(detail, field);
    case "no such model":
      return new OpenAiError(404, detail, { param: "model", code: "model_not_found" });
    case "limit":
    case "unsendable":
      return unsentError(type, detail);
    case "damaged call":
    case "other body":
      return new OpenAiError(422, detail);
  }
}

const MODERATION = /moderat|safety|content.(?:polic|filter)|prohibited.content/i;

/**
 * After a submit, the HTTP status is 400 or 422, because clients do not retry these and a retry might be charged.
 * @param obstacle type of the error that prevented the submit, or null
 */
export function failedTaskError(
  task: Task,
  { outcome, detail }: Extract<TaskEnd, { name: "failed" }>,
  obstacle: ErrorType | null,
): OpenAiError {
  if (isUnsent(task)) return unsentError(obstacle, detail);
  const message = withStatusCommand(detail, displayId(task));
  if (outcome === "unknown") return submittedError(message, "outcome_unknown");
  const { type = null, code, param } = getAnswer(decidingRequest(task), "refused")?.error ?? {};
  if (MODERATION.test(`${code} ${detail}`) && !ACCOUNT_ERRORS.has(type)) {
    const facts = { type: "image_generation_user_error", code: code ?? "moderation_blocked", param };
    return new OpenAiError(400, message, facts);
  }
  if (type === "invalid_request")
    return new OpenAiError(422, message, { code: code ?? "invalid_request", param });
  return submittedError(message, code ?? "generation_failed", param);
}

const ACCOUNT_ERRORS: ReadonlySet<ErrorType | null> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
]);

function submittedError(message: string, code: string, param: string | null = null): OpenAiError {
  return new OpenAiError(422, message, { type: "server_error", code, param });
}

export function unknownOutcomeError(taskId: string, why: string): OpenAiError {
  return submittedError(withStatusCommand(toSentence(why), taskId), "outcome_unknown");
}

export function missingImageError(taskId: string): OpenAiError {
  return submittedError(
    withStatusCommand("The image of this request no longer exists on the server.", taskId),
    "not_kept",
  );
}

function withStatusCommand(detail: string, taskId: string): string {
  return `${detail} To check the task: imggen status ${taskId}`;
}

/** `x-should-retry: false` stops retries of OpenAI's clients. Other clients decide by the HTTP status. */
export function errorReply({ status, error }: OpenAiError): ServerReply {
  const note = `${error.code ?? error.type}: ${error.message}`;
  return { kind: "json", status, headers: { "x-should-retry": "false" }, body: { error }, note };
}

/** The HTTP status is 422, so that clients do not retry after a bug, because the task might have begun. */
export function bugReply(error: unknown): ServerReply {
  const message = "The server failed. imggen serve --verbose shows why.";
  return { ...errorReply(submittedError(message, "internal")), note: String(error) };
}
