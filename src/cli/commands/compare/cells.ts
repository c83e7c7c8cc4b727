import {
  type CheckedRow,
  checkRow,
  isRepeat,
  type RowChecks,
  RowKeys,
  rowDigest,
} from "../../../core/batch/batch-row.ts";
import { ImggenError, UsageError } from "../../../lib/error-types.ts";
import { InvalidRequestError, type Limit } from "../../../models/invalid-request.ts";
import { DEFAULT_MODEL, type Matrix } from "../../../models/matrix.ts";
import { unknownModel } from "../../../models/rules/model.ts";
import { unknownQuality } from "../../../models/rules/quality.ts";
import { unknownRatio } from "../../../models/rules/ratio.ts";
import { FLAG_LABELS } from "../../../models/rules/rule.ts";
import type { RequestInput } from "../../../task/request.ts";
import type { ProviderFields } from "../../../task/request-fields.ts";

/** The values that are compared: every model with every ratio, quality and set of fields. An empty list: the default. */
interface Axes {
  models: readonly string[];
  ratios: readonly string[];
  qualities: readonly string[];
  /** Sets of fields of the user's own generator. */
  fields: readonly ProviderFields[];
}

/** One combination, with values as the user wrote them. */
export interface Cell {
  model: string | undefined;
  ratio: string | undefined;
  quality: string | undefined;
  fields: ProviderFields | undefined;
}

export interface Comparison {
  rows: CheckedRow[];
  skipped: SkippedCell[];
}

/** A cell that the model matrix rules out. */
export interface SkippedCell {
  cell: Cell;
  /** Why, in words. */
  reason: string;
  /** What its model takes in place of its ratio or its quality; null where something else rules it out. */
  limit: Limit | null;
}

/**
 * Rejects values that no model supports: such a value is a typo, and skipping it would charge for the other cells. A
 * value that is only invalid in combination with another is not rejected here; its cell is skipped.
 * @throws UsageError for the first
 */
export function requireKnownValues(
  { models, ratios, qualities }: Omit<Axes, "fields">,
  matrix: Matrix,
): void {
  const compared = models.length === 0 ? [DEFAULT_MODEL] : models;
  const refusals = [
    ...models.map((name) => unknownModel(name, FLAG_LABELS.model, matrix)),
    ...ratios.map((value) => unknownRatio(value, FLAG_LABELS.ratio, matrix, compared)),
    ...qualities.map((value) => unknownQuality(value, FLAG_LABELS.quality)),
  ];
  const first = refusals.find((refusal) => refusal !== null);
  if (first)
    throw new UsageError(`${first.message}.`, {
      hint: ["Nothing was sent.", first.hint],
    });
}

/**
 * The product of the axes: the cells that the matrix allows as the rows of a batch, the others with the reason.
 * A cell that occurs twice, under two names of one model, is kept once.
 * @param shared the values that all cells have in common
 */
export async function compareCells(
  prompt: string,
  axes: Axes,
  shared: Omit<RequestInput, "prompt" | keyof Cell>,
  checks: RowChecks,
): Promise<Comparison> {
  const comparison: Comparison = { rows: [], skipped: [] };
  const keys = new RowKeys();
  for (const cell of cellsOf(axes)) {
    const checked = await checkRow({ ...shared, prompt, ...cell }, checks);
    if (checked instanceof ImggenError) {
      const limit = checked instanceof InvalidRequestError ? checked.limit : null;
      comparison.skipped.push({ cell, reason: checked.message, limit });
      continue;
    }
    const key = keys.next(rowDigest(checked.request, undefined));
    if (isRepeat(key)) continue;
    const row = comparison.rows.length + 1;
    comparison.rows.push({ row, line: row, checked, output: null, key });
  }
  return comparison;
}

function cellsOf({ models, ratios, qualities, fields }: Axes): Cell[] {
  const orNone = <Value>(values: readonly Value[]) => (values.length === 0 ? [undefined] : values);
  return orNone(models).flatMap((model) =>
    orNone(ratios).flatMap((ratio) =>
      orNone(qualities).flatMap((quality) =>
        orNone(fields).map((each) => ({ model, ratio, quality, fields: each })),
      ),
    ),
  );
}

/** Every combination of the values of some fields. */
export function fieldSets(axes: ReadonlyMap<string, readonly ProviderFields[string][]>): ProviderFields[] {
  return [...axes].reduce<ProviderFields[]>(
    (sets, [name, values]) => sets.flatMap((set) => values.map((value) => ({ ...set, [name]: value }))),
    [{}],
  );
}
