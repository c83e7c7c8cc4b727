import { fixedSchedule, SHORTEST_POLL_INTERVAL_MS } from "../core/polling/fixed-schedules.ts";
import type { WaitSettings } from "../core/polling/wait.ts";
import { UsageError } from "../lib/error-types.ts";
import { checkRequest, type GeneratorTerms } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { CheckedRequest, RequestInput } from "../task/request.ts";
import { fieldsFrom, type GivenFields } from "../task/request-fields.ts";
import type { RequestOptions, WaitOptions } from "./options.ts";

/** The fields of a request among a call's options. */
export function inputFrom(options: RequestOptions): RequestInput {
  const image = options.image === undefined ? undefined : [options.image].flat();
  const fields = { ...options, image };
  return { ...fieldsFrom<GivenFields>((name) => fields[name]), prompt: options.prompt };
}

/** @throws InvalidRequestError for the first rule of the service's document that a request breaks */
export function checkedFrom(
  options: RequestOptions,
  matrix: Matrix,
  generator: GeneratorTerms | null,
): CheckedRequest {
  if (options.prompt === undefined) throw new UsageError("There is no prompt.");
  const validate = options.validate !== false;
  return checkRequest(inputFrom(options), matrix, { validate, labels: FIELD_LABELS, generator });
}

/** How long to wait, and how often to poll. @throws UsageError */
export function waitFrom(call: string, { timeoutMs, pollIntervalMs }: WaitOptions): WaitSettings {
  if (timeoutMs === 0) throw new UsageError(`${call}: timeoutMs must be more than 0.`);
  if (pollIntervalMs !== undefined && pollIntervalMs < SHORTEST_POLL_INTERVAL_MS)
    throw new UsageError(`${call}: pollIntervalMs must be at least ${SHORTEST_POLL_INTERVAL_MS}.`);
  const schedule = pollIntervalMs === undefined ? null : fixedSchedule(pollIntervalMs);
  return { timeoutMs: timeoutMs ?? null, schedule };
}
