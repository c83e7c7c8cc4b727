import { UsageError } from "../lib/error-types.ts";
import { checkRequest, type GeneratorTerms } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { CheckedRequest, RequestInput } from "../task/request.ts";
import { fieldsFrom, type GivenFields } from "../task/request-fields.ts";
import type { RequestOptions } from "./options/call-options.ts";

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
  saved: SavedFields | undefined,
): CheckedRequest {
  if (options.prompt === undefined) throw new UsageError("There is no prompt.");
  const validate = options.validate !== false;
  return checkRequest(inputFrom(options), matrix, {
    validate,
    labels: FIELD_LABELS,
    generator,
    ...(saved && { saved }),
  });
}
