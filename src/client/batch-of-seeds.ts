import type { BatchResult } from "../core/batch/batch-spec.ts";
import { type BatchPlan, documentedCredits, isToSubmit, type PlannedRow } from "../core/batch/plan.ts";
import { notSentResult, type RowResult, unreadRowResult } from "../core/batch/row-result.ts";
import { resolveDestination } from "../core/images/destination.ts";
import { type ImggenError, UsageError } from "../lib/error-types.ts";
import { nextSeed, type WholeNumber } from "../lib/exact-integer.ts";
import type { Vocabulary } from "../lib/wording.ts";
import { FLAG_LABELS } from "../models/rules/rule.ts";
import { rowJson, summaryJson } from "./batch-json.ts";
import { type CheckedBatch, checkBatch, numberRows, readBatchCall } from "./batch-operations.ts";
import type { ClientSession } from "./client-session.ts";
import { refuseSingleRequestFlags, requireOneImageEach, SEVERAL_SEEDS, seedText } from "./given-seeds.ts";
import { outputSettings } from "./given-values.ts";
import type { FlagsOf } from "./options/option.ts";
import type { GENERATE } from "./options/request-table.ts";
import type { DescribedRequest } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

type Flags = Omit<FlagsOf<typeof GENERATE>, "seed">;

/** @throws UsageError, InvalidRequestError for the first invalid request */
export async function checkBatchOfSeeds(
  prompt: string,
  seeds: readonly WholeNumber[],
  flags: Flags,
  session: ClientSession,
): Promise<CheckedBatch> {
  refuseSingleRequestFlags(flags);
  requireOneImageEach(flags);
  await requireFolder(flags, session);
  const rows = numberRows(seeds.map((seed) => ({ prompt, seed })));
  const kind = {
    ...SEVERAL_SEEDS,
    nameOf: ({ checked: { request } }: CheckedBatch["spec"]["rows"][number]) => seedText(request),
    // The budget covers only these rows, not earlier images in the folder.
    budgetOf: "rows" as const,
    throwsFirst: true,
    rowLabels: FLAG_LABELS,
    images: { label: FLAG_LABELS.image },
  };
  const batch = await checkBatch(rows, readBatchCall(flags, flags, session), kind, session);
  const requests = batch.spec.rows.map((row) => ["", row.checked.request] as const);
  await (await targetInEffect(session)).describe(requests);
  return batch;
}

/** @throws UsageError if the destination is a file, because several seeds make several images */
async function requireFolder(flags: Flags, session: ClientSession): Promise<void> {
  const { output, outputLabel = "--output" } = outputSettings(flags, session);
  const { name, overwrite = false } = flags;
  const { resolvePath } = session.context;
  const { kind } = await resolveDestination({ output, name, overwrite, mayExist: true, resolvePath });
  if (kind !== "folder")
    throw new UsageError(
      `${outputLabel} ${output} is for one image, but several seeds make several images.`,
      {
        hint: "Nothing was sent. Name a folder, such as pictures/",
      },
    );
}

/** Builds JSON with a result for each seed. @param ends results of rows; after a signal, some rows have no result */
export function seedsJson(
  plan: BatchPlan,
  ends: readonly RowResult[],
  result: BatchResult,
  words: Vocabulary,
): object {
  const resultsByRow = new Map(ends.map((end) => [end.row.row, end]));
  const tasks = sortByRow(plan).flatMap((row) => {
    const end = resultsByRow.get(row.row) ?? (result.stopped && unstartedResult(row, result.stopped));
    if (!end) return [];
    const { row: _row, line: _line, ...task } = rowJson(end, words);
    return task;
  });
  return { ok: result.counts.isComplete, tasks, credits: summaryJson(result).credits };
}

/** Result of a row that this run did not start. An earlier run might have charged the row. */
function unstartedResult(row: PlannedRow, stopped: ImggenError): RowResult {
  return isToSubmit(row) && row.resubmit === null
    ? notSentResult(row, stopped)
    : unreadRowResult(row, stopped);
}

function sortByRow({ rows }: BatchPlan): PlannedRow[] {
  return rows.toSorted((a, b) => a.row - b.row);
}

export function seedsPlanJson(
  plan: BatchPlan,
  described: DescribedRequest | null,
  warnings: readonly string[],
) {
  const firstRequest = described?.sent ?? null;
  const rows = sortByRow(plan);
  const [first] = [...rows.filter(isToSubmit), ...rows];
  return {
    ok: true,
    dryRun: true,
    requests: plan.toSubmit.rows,
    seeds: rows.filter(isToSubmit).map(({ checked }) => checked.request.seed),
    request: first?.checked.request,
    ...(firstRequest && { sent: firstRequest }),
    credits: documentedCredits(plan.toSubmit),
    ...(warnings.length > 0 && { warnings }),
  };
}

export function seedRanges(seeds: readonly (WholeNumber | undefined)[]): string {
  const ranges: WholeNumber[][] = [];
  for (const seed of seeds.filter((each) => each !== undefined)) {
    const last = ranges.at(-1)?.at(-1);
    if (last !== undefined && nextSeed(last, 1) === seed) ranges.at(-1)?.push(seed);
    else ranges.push([seed]);
  }
  return ranges.map((range) => [...new Set([range[0], range.at(-1)])].join("-")).join(", ");
}
