import { type BatchSpec, DEFAULT_CONCURRENCY } from "../core/batch/batch-spec.ts";
import { checkRows, type RowDefaults } from "../core/batch/check-rows.ts";
import { outputFolder } from "../core/batch/row-files.ts";
import { readRows } from "../core/manifest/read-manifest.ts";
import type { PrivateCopies } from "../core/references/private-copies.ts";
import { UsageError } from "../lib/error-types.ts";
import { checkRequest, type GeneratorTerms } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { CheckedRequest, RequestInput } from "../task/request.ts";
import { fieldsFrom, type GivenFields } from "../task/request-fields.ts";
import type { ClientSession } from "./client-session.ts";
import { waitFrom } from "./given-values.ts";
import type { BatchOptions, BatchRowOptions, RequestOptions } from "./options/call-options.ts";

/** The fields of a request among a call's options. */
function inputFrom(options: RequestOptions): RequestInput {
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

export type BatchRows = Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>;

/**
 * A call's batch, as `imggen batch` runs it: the same rows into the same folder resume it.
 * @throws ManifestError, UsageError
 */
export async function batchFrom(
  rows: BatchRows,
  options: BatchOptions,
  checks: Pick<RowDefaults, "matrix" | "generator"> & { copies: PrivateCopies | null },
  { settings, words, context, saved }: ClientSession,
): Promise<BatchSpec> {
  const { output, name, overwrite = false, concurrency = DEFAULT_CONCURRENCY } = options;
  const { resolvePath } = context;
  const folder = await outputFolder({
    output,
    label: "output",
    name,
    overwrite,
    resolvePath,
  });
  const validate = options.validate !== false;
  const { prompt: _none, ...values } = inputFrom({ ...options, prompt: "" });
  const defaults = {
    ...checks,
    ...(saved && { saved }),
    values,
    labels: FIELD_LABELS,
    words,
    validate,
    shard: null,
    refusesUnused: true,
  };
  const { rows: checked } = await checkRows(readRows(rows), defaults);
  return {
    rows: checked,
    copies: checks.copies,
    output: folder,
    wait: waitFrom(options),
    concurrency,
    resubmitUnknown: options.resubmitUnknown === true,
    retryFailed: options.retryFailed === true,
    shard: null,
    budgetOf: "folder",
    cap: options.maxCredits ?? null,
    yes: options.yes === true,
    confirmAbove: settings.confirmAbove(),
    matrix: checks.matrix,
    allowUndocumented: !validate,
    nameOf: ({ line }) => `row ${line}`,
  };
}
