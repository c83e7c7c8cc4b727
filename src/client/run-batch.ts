import { checkedRows } from "../core/batch/checked-rows.ts";
import {
  type BatchSpec,
  type BatchWatcher,
  DEFAULT_CONCURRENCY,
  executeBatch,
  MOST_CONCURRENCY,
} from "../core/batch/execute-batch.ts";
import { foreignFolder } from "../core/batch/foreign-folder.ts";
import { realFolder } from "../core/batch/row-files.ts";
import type { TaskDeps } from "../core/deps.ts";
import { BudgetExceededError } from "../core/errors.ts";
import { DEFAULT_TEMPLATE, templateProblem } from "../core/images/file-name.ts";
import { likelyCredits } from "../core/limits/budget.ts";
import { readRows } from "../core/manifest/read.ts";
import { UsageError } from "../lib/error-types.ts";
import { type OptionNames, worded } from "../lib/wording.ts";
import type { Matrix } from "../models/matrix.ts";
import { rowJson, summaryJson } from "./batch-json.ts";
import { type BatchOptions, type BatchRowOptions, checkOptions } from "./options.ts";
import { inputFrom, LABELS, waitFrom } from "./request.ts";
import type { BatchRow, BatchSummary } from "./results.ts";

export type BatchRows = Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>;

/** What a batch needs from the process that runs it. */
export interface BatchSurroundings {
  matrix: Matrix;
  resolvePath: (file: string) => string;
  /** Above this many credits the cost must be confirmed. */
  confirmAbove: () => Promise<number>;
  /** How messages name options. */
  names: OptionNames;
}

/**
 * Runs a batch as `imggen batch` does: the same rows into the same folder resume it.
 * @param onRow called with each row as it ends
 * @throws ManifestError, BudgetExceededError, UsageError, or what `executeBatch` throws; nothing was sent then
 */
export async function runBatch(
  rows: BatchRows,
  options: BatchOptions,
  surroundings: BatchSurroundings,
  deps: TaskDeps,
  onRow: (row: BatchRow) => Promise<void>,
): Promise<BatchSummary> {
  checkOptions("batch", options);
  const spec = await specOf(rows, options, surroundings);
  const watcher: BatchWatcher = {
    async agreeOnFolder(found, plan) {
      const foreign = foreignFolder(found, plan, spec);
      if (foreign === null) return false;
      if (options.yes) return true;
      const hint =
        "Nothing was sent. Submit them anyway with yes: true, or use the home that submitted them.";
      throw new UsageError(foreign.message, { hint });
    },
    async agreeOnCosts({ toSubmit }) {
      const [credits, limit] = [
        likelyCredits(toSubmit, surroundings.matrix),
        await surroundings.confirmAbove(),
      ];
      if (options.yes || spec.cap !== null || credits <= limit) return;
      throw new BudgetExceededError(
        `The batch may cost ${credits} credits, more than ${limit} (confirmAbove).`,
        { hint: "Nothing was sent. Allow it with yes: true, or set its budget with maxCredits." },
      );
    },
    onOutage() {},
    onPause() {},
    onStart() {},
    onEnd: (end) => onRow(rowJson(end, surroundings.names)),
  };
  const result = await executeBatch(spec, watcher, deps);
  if (deps.signal.aborted) throw deps.signal.reason;
  return summaryJson(result);
}

async function specOf(
  rows: BatchRows,
  options: BatchOptions,
  { matrix, names, resolvePath }: BatchSurroundings,
): Promise<BatchSpec> {
  const { output, name, overwrite = false, concurrency = DEFAULT_CONCURRENCY } = options;
  if (concurrency < 1 || concurrency > MOST_CONCURRENCY)
    throw new UsageError(`batch: concurrency must be 1 to ${MOST_CONCURRENCY}.`);
  const problem = name === undefined ? null : templateProblem(name);
  if (problem !== null)
    throw new UsageError((names) => `batch: name ${JSON.stringify(name)}: ${worded(problem, names)}.`);
  if (output === "-") throw new UsageError('output takes a folder, not "-".');
  const folder = await realFolder(resolvePath(output ?? "."));
  const validate = options.validate !== false;
  const { prompt: _none, ...values } = inputFrom({ ...options, prompt: "" });
  const defaults = { matrix, values, labels: LABELS, names, validate, shard: null, refusesUnused: true };
  const { rows: checked } = await checkedRows(readRows(rows), defaults);
  return {
    rows: checked,
    output: { folder, template: name ?? DEFAULT_TEMPLATE, overwrite },
    wait: waitFrom("batch", options),
    concurrency,
    resubmitUnknown: options.resubmitUnknown === true,
    retryFailed: options.retryFailed === true,
    shard: null,
    budgetOf: "folder",
    cap: options.maxCredits ?? null,
    matrix,
    allowUndocumented: !validate,
    nameOf: ({ line }) => `row ${line}`,
  };
}
