import { ImggenError } from "../../lib/errors.ts";
import { checkRequest } from "../../models/check.ts";
import type { Labels } from "../../models/labels.ts";
import type { CheckedRequest, RequestDraft } from "../../task/request.ts";
import type { ManifestEntry, RowValues } from "../manifest/entry.ts";
import { OutputNames } from "../manifest/output-name.ts";
import { type BatchRow, RowKeys } from "./batch-row.ts";
import { inShard, rowDigest, type Shard } from "./shard.ts";

/** Values for rows that do not set their own. */
export interface RowDefaults {
  values: Omit<RequestDraft, "prompt">;
  /** Where the defaults come from, for messages about them. */
  labels: Partial<Labels>;
  validate: boolean;
  shard: Shard | null;
}

/** A problem in the manifest; with any, nothing of the batch is sent. */
export interface ManifestProblem {
  line: number;
  message: string;
}

/** How messages name a value that the row itself sets. */
const ROW_LABELS: Labels = {
  prompt: "prompt",
  model: "model",
  ratio: "ratio",
  quality: "quality",
  image: "image",
  maxImages: "maxImages",
};

/**
 * Checks a manifest's rows against the model matrix as they are read; only their output names are kept in memory.
 * Rows of other shards are checked too, and then left out.
 */
export async function* checkRows(
  entries: AsyncIterable<ManifestEntry>,
  defaults: RowDefaults,
): AsyncGenerator<BatchRow | ManifestProblem> {
  const keys = new RowKeys();
  const names = new OutputNames();
  for await (const entry of entries) {
    if (entry.kind === "problem") {
      yield { line: entry.line, message: entry.message };
      continue;
    }
    const { row, line, values } = entry.row;
    const output = values.output ?? null;
    const clash = output === null ? null : names.add(line, output);
    if (clash !== null) yield { line, message: clash };
    const checked = checkValues(values, defaults);
    if (typeof checked === "string") {
      yield { line, message: checked };
      continue;
    }
    const digest = rowDigest(checked.request, output ?? undefined);
    if (defaults.shard && !inShard(digest, defaults.shard)) continue;
    if (clash === null) yield { row, line, checked, output, key: keys.next(digest) };
  }
}

/** Whether this is a row, not a problem. */
export function isRow(each: BatchRow | ManifestProblem): each is BatchRow {
  return "checked" in each;
}

/** @returns what is wrong, in words, in place of a request */
function checkValues({ output: _output, ...own }: RowValues, defaults: RowDefaults): CheckedRequest | string {
  const draft: RequestDraft = { ...defaults.values, ...own };
  const labels = { ...ROW_LABELS, ...labelsOfDefaults(own, defaults) };
  try {
    return checkRequest(draft, { validate: defaults.validate, labels });
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return error.hint === null ? error.message : `${error.message} ${error.hint}`;
  }
}

/** Labels of the values that the row leaves to the defaults: the flag or setting that set them. */
function labelsOfDefaults(own: Omit<RowValues, "output">, { labels }: RowDefaults): Partial<Labels> {
  const inherited = Object.entries(labels).filter(([name]) => own[name as keyof typeof own] === undefined);
  return Object.fromEntries(inherited);
}
