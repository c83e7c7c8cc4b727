import type { ErrorType } from "../../lib/error-types.ts";
import { toSentence } from "../../lib/short-text.ts";
import type { ServerReply } from "../../server/reply.ts";
import { decidingRequest, displayId, getAnswer, type Task } from "../../task/task.ts";
import type { NotBegun } from "../begin-task.ts";
import { isUnsent, type TaskEnd } from "../end.ts";

interface ErrorFacts {
  type?: string;
  /** The field that is wrong. */
  param?: string | null | undefined;
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

/** The error of a request of which nothing was sent: a client may repeat it. @param type of the error that kept it from that */
function unsent(type: ErrorType | null, detail: string): OpenAiError {
  switch (type) {
    case "insufficient_credits":
    case "subscription_required":
    case "budget_exceeded":
      return noQuota(detail);
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

/** The error of a request that no task was begun for. */
export function notBegun({ kind, type, field, detail }: NotBegun): OpenAiError {
  switch (kind) {
    case "invalid":
      return wrongRequest(detail, field);
    case "no such model":
      return new OpenAiError(404, detail, { param: "model", code: "model_not_found" });
    case "limit":
    case "unsendable":
      return unsent(type, detail);
    case "damaged call":
    case "other body":
      return new OpenAiError(422, detail);
  }
}

/** Words and codes of a refusal of the prompt or an image. */
const MODERATION = /moderat|safety|content.(?:polic|filter)|prohibited.content/i;

/**
 * The error of a task that has ended without an image. After something was sent it is one that no client repeats by itself,
 * because that would be another task, and another charge.
 * @param obstacle type of the error that kept its rest from being sent; null for none
 */
export function failedTask(
  task: Task,
  { outcome, detail }: Extract<TaskEnd, { name: "failed" }>,
  obstacle: ErrorType | null,
): OpenAiError {
  if (isUnsent(task)) return unsent(obstacle, detail);
  const message = withLookup(detail, displayId(task));
  if (outcome === "unknown") return afterSent(message, "outcome_unknown");
  const { type = null, code, param } = getAnswer(decidingRequest(task), "refused")?.error ?? {};
  if (MODERATION.test(`${code} ${detail}`) && !ACCOUNT_ERRORS.has(type)) {
    const facts = { type: "image_generation_user_error", code: code ?? "moderation_blocked", param };
    return new OpenAiError(400, message, facts);
  }
  if (type === "invalid_request")
    return new OpenAiError(422, message, { code: code ?? "invalid_request", param });
  return afterSent(message, code ?? "generation_failed", param);
}

const ACCOUNT_ERRORS: ReadonlySet<ErrorType | null> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
]);

function afterSent(message: string, code: string, param: string | null = null): OpenAiError {
  return new OpenAiError(422, message, { type: "server_error", code, param });
}

/** The error of a task whose end cannot be told. */
export function notKnown(taskId: string, why: string): OpenAiError {
  return afterSent(withLookup(toSentence(why), taskId), "outcome_unknown");
}

/** The error of a task whose images the server has no longer. */
export function notKept(taskId: string): OpenAiError {
  return afterSent(withLookup("The image of this request is no longer kept.", taskId), "not_kept");
}

function withLookup(detail: string, taskId: string): string {
  return `${detail} To look it up: imggen status ${taskId}`;
}

/** The reply for an error. OpenAI's own clients do not repeat a request after it; others go by the status alone. */
export function errorReply({ status, error }: OpenAiError): ServerReply {
  const note = `${error.code ?? error.type}: ${error.message}`;
  return { kind: "json", status, headers: { "x-should-retry": "false" }, body: { error }, note };
}

/** The reply after an exception, whose message goes to the log: a task may have begun, so no client is to repeat the request. */
export function bugReply(error: unknown): ServerReply {
  const message = "The server failed. imggen serve --verbose shows why.";
  return { ...errorReply(afterSent(message, "internal")), note: String(error) };
}
