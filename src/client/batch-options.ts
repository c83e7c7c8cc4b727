import { type BatchSpec, DEFAULT_CONCURRENCY, MOST_CONCURRENCY } from "../core/batch/batch-spec.ts";
import { checkedRows } from "../core/batch/checked-rows.ts";
import { outputFolder } from "../core/batch/row-files.ts";
import { readRows } from "../core/manifest/read.ts";
import { UsageError } from "../lib/error-types.ts";
import type { GeneratorTerms } from "../models/check.ts";
import type { Matrix } from "../models/matrix.ts";
import type { BatchOptions, BatchRowOptions } from "./options.ts";
import { inputFrom, LABELS, waitFrom } from "./request.ts";
import type { ClientSession } from "./session.ts";

export type BatchRows = Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>;

/**
 * A call's batch, as `imggen batch` runs it: the same rows into the same folder resume it.
 * @throws ManifestError, UsageError
 */
export async function batchFrom(
  rows: BatchRows,
  options: BatchOptions,
  { matrix, generator }: { matrix: Matrix; generator: GeneratorTerms | null },
  { settings, optionNames: names, context }: ClientSession,
): Promise<BatchSpec> {
  const { output, name, overwrite = false, concurrency = DEFAULT_CONCURRENCY } = options;
  if (concurrency < 1 || concurrency > MOST_CONCURRENCY)
    throw new UsageError(`batch: concurrency must be 1 to ${MOST_CONCURRENCY}.`);
  const { resolvePath } = context;
  const folder = await outputFolder({ output, label: names.output, name, overwrite, resolvePath });
  const validate = options.validate !== false;
  const { prompt: _none, ...values } = inputFrom({ ...options, prompt: "" });
  const defaults = {
    matrix,
    generator,
    values,
    labels: LABELS,
    names,
    validate,
    shard: null,
    refusesUnused: true,
  };
  const { rows: checked } = await checkedRows(readRows(rows), defaults);
  return {
    rows: checked,
    output: folder,
    wait: waitFrom("batch", options),
    concurrency,
    resubmitUnknown: options.resubmitUnknown === true,
    retryFailed: options.retryFailed === true,
    shard: null,
    budgetOf: "folder",
    cap: options.maxCredits ?? null,
    yes: options.yes === true,
    confirmAbove: await settings.confirmAbove(),
    matrix,
    allowUndocumented: !validate,
    nameOf: ({ line }) => `row ${line}`,
  };
}
