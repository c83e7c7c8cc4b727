import { ImggenError } from "../../lib/error-types.ts";
import type { OptionNames } from "../../lib/wording.ts";
import { checkRequest, type GeneratorTerms } from "../../models/check.ts";
import type { Labels } from "../../models/labels.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { CheckedRequest, RequestInput } from "../../task/request.ts";
import type { ManifestProblem } from "../errors.ts";
import { isPlaceholder } from "../images/file-name.ts";
import { columnOf } from "../manifest/columns.ts";
import {
  fillTemplate,
  type ManifestEntry,
  missingProblem,
  type OtherColumns,
  placeholdersIn,
  type RowValues,
} from "../manifest/entry.ts";
import { OutputNames } from "../manifest/output-name.ts";
import type { PrivateCopies } from "../references/private-copies.ts";
import { type CheckedRow, RowKeys } from "./batch-row.ts";
import { inShard, rowDigest, type Shard } from "./shard.ts";

/** Values for rows that do not set their own, and what rows are checked against. */
export interface RowDefaults {
  matrix: Matrix;
  values: Omit<RequestInput, "prompt">;
  /** Where the defaults come from, for messages about them. */
  labels: Partial<Labels>;
  /** How messages name options. */
  names: OptionNames;
  validate: boolean;
  /** As of `CheckOptions`. */
  generator?: GeneratorTerms | null;
  /** Takes files among a row's reference images; absent or null where only URLs are taken. */
  copies?: Pick<PrivateCopies, "known"> | null;
  shard: Shard | null;
  /** `--template`, which gives prompts, and `--name`: which columns of a row are used. Absent: none is. */
  template?: string | undefined;
  name?: string | undefined;
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
): AsyncGenerator<CheckedRow | ManifestProblem> {
  const keys = new RowKeys();
  const uncutKeys = new RowKeys();
  const names = new OutputNames();
  for await (const entry of entries) {
    if (entry.kind === "problem") {
      yield { line: entry.line, message: entry.message };
      continue;
    }
    const { row, line, values, others = NO_COLUMNS, uncut } = entry.row;
    const output = values.output ?? null;
    const clash = output === null ? null : names.add(line, output);
    if (clash !== null) yield { line, message: clash };
    const named = nameOfRow(others, defaults);
    const checked = "problem" in named ? named.problem : await checkValues(values, defaults);
    if (typeof checked === "string" || "problem" in named) {
      yield { line, message: String(checked) };
      continue;
    }
    const digest = rowDigest(checked.request, output ?? undefined);
    if (defaults.shard && !inShard(digest, defaults.shard)) continue;
    const own = { ...named, ...unusedOf(others, defaults) };
    const uncutRequest = uncut === undefined ? null : { ...checked.request, prompt: uncut };
    const former = uncutRequest && { uncutKey: uncutKeys.next(rowDigest(uncutRequest, output ?? undefined)) };
    if (clash === null) yield { row, line, checked, output, ...own, key: keys.next(digest), ...former };
  }
}

const NO_COLUMNS: OtherColumns = new Map();

/** The row's file name template, where `--name` asks for columns. */
function nameOfRow(others: OtherColumns, { name }: RowDefaults): { template?: string } | { problem: string } {
  if (name === undefined || placeholdersIn(name).every(isPlaceholder)) return {};
  // What a name's own placeholders stand for is known only once there is an image.
  const filled = fillTemplate(name, (each) => {
    const own = columnOf(each) ?? each;
    return isPlaceholder(own) ? `{${own}}` : others.get(each)?.replaceAll(NO_PART_OF_A_NAME, "-");
  });
  return "text" in filled ? { template: filled.text } : { problem: missingProblem("--name", filled.missing) };
}

const NO_PART_OF_A_NAME = /[{}/\\\p{Cc}]/gu;

/** The most unused columns of a row that are named: a file that is no manifest may have any number of them. */
const MOST_UNUSED = 10;

function unusedOf(
  others: OtherColumns,
  { template = "", name = "" }: RowDefaults,
): Pick<CheckedRow, "unused"> {
  const used = [...placeholdersIn(template), ...placeholdersIn(name)];
  const unused = [...others.keys()].filter((each) => !used.includes(each)).slice(0, MOST_UNUSED);
  return unused.length > 0 ? { unused } : {};
}

/** Whether this is a row, not a problem. */
export function isRow(each: CheckedRow | ManifestProblem): each is CheckedRow {
  return "checked" in each;
}

/** @returns what is wrong, in words, in place of a request */
async function checkValues(
  { output: _output, ...own }: RowValues,
  defaults: RowDefaults,
): Promise<CheckedRequest | string> {
  const { names } = defaults;
  const input: RequestInput = { ...defaults.values, ...own };
  const labels = { ...ROW_LABELS, ...labelsOfDefaults(own, defaults) };
  try {
    const { matrix, validate, generator, copies } = defaults;
    const checked = checkRequest(input, matrix, { validate, labels, generator });
    return copies ? { ...checked, request: await copies.known(checked.request) } : checked;
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return [error.messageFor(names), error.hintFor(names)].filter((text) => text !== null).join(" ");
  }
}

/** Labels of the values that the row leaves to the defaults: the flag or setting that set them. */
function labelsOfDefaults(own: Omit<RowValues, "output">, { labels }: RowDefaults): Partial<Labels> {
  const inherited = Object.entries(labels).filter(([name]) => own[name as keyof typeof own] === undefined);
  return Object.fromEntries(inherited);
}
