import { ImggenError } from "../../lib/error-types.ts";
import { formatWording, type Vocabulary } from "../../lib/wording.ts";
import { InvalidRequestError, type Limit } from "../../models/invalid-request.ts";
import { FIELD_LABELS, type Labels } from "../../models/rules/rule.ts";
import type { CheckedRequest, RequestInput } from "../../task/request.ts";
import { ManifestError, type ManifestProblem } from "../errors.ts";
import { isPlaceholder } from "../images/file-name.ts";
import {
  fillTemplate,
  findColumn,
  listPlaceholders,
  listUsedNames,
  type ManifestEntry,
  missingProblem,
  type OtherColumns,
  type ReadOptions,
  type RowValues,
} from "../manifest/entry.ts";
import { OutputNames } from "../manifest/output-name.ts";
import { type CheckedRow, checkRow, isRepeat, type RowChecks, RowKeys, rowDigest } from "./batch-row.ts";
import { isInShard, type Shard } from "./shard.ts";

export interface RowDefaults extends RowChecks, ReadOptions {
  values: Omit<RequestInput, "prompt">;
  labels: Partial<Labels>;
  words: Vocabulary;
  shard: Shard | null;
  /** Whether an unused column is reported as a problem. Default false. */
  refusesUnused?: boolean;
  rowLabels?: Labels;
  /** Whether invalid rows are skipped instead of refused, and repeated rows are omitted. Default false. */
  skipsRows?: boolean;
  /** Whether the error of the first invalid row is thrown unchanged. Set for rows of one request. Default false. */
  throwsFirst?: boolean;
}

interface CheckedRows {
  rows: CheckedRow[];
  skipped: SkippedRow[];
  /** At most 10 names of unused columns. */
  unused: string[];
}

export interface SkippedRow {
  input: RequestInput;
  reason: string;
  /** Supported values if the row's ratio or quality is unsupported, otherwise null. */
  limit: Limit | null;
}

const MAX_UNUSED_NAMES = 10;

/**
 * Checks all rows of a manifest against the model matrix. Rows of other shards are checked too, but not returned.
 * @throws ManifestError with every problem; under `throwsFirst`, the ImggenError of the first invalid row
 */
export async function checkRows(
  entries: AsyncIterable<ManifestEntry>,
  defaults: RowDefaults,
): Promise<CheckedRows> {
  const keys = new RowKeys();
  const uncutKeys = new RowKeys();
  const names = new OutputNames();
  const { skipsRows = false, throwsFirst = false } = defaults;
  const rows: CheckedRow[] = [];
  const skipped: SkippedRow[] = [];
  const problems: ManifestProblem[] = [];
  const unused = new Set<string>();
  let row = 0;
  for await (const entry of entries) {
    if ("message" in entry) {
      problems.push(entry);
      continue;
    }
    row += 1;
    const { line, values, others = NO_COLUMNS, uncut } = entry;
    const refuse = (message: string) => void problems.push({ line, message });
    const output = values.output ?? null;
    const conflict = output === null ? null : names.add(line, output);
    if (conflict !== null) refuse(conflict);
    const fileName = fillFileName(others, defaults);
    if (typeof fileName === "string") {
      refuse(fileName);
      continue;
    }
    const { input, checked } = await checkValues(values, defaults);
    if (checked instanceof ImggenError) {
      if (throwsFirst) throw checked;
      const limit = checked instanceof InvalidRequestError ? checked.limit : null;
      if (skipsRows)
        skipped.push({ input, reason: formatWording(checked.wording.message, defaults.words), limit });
      else refuse(describeProblem(checked, defaults));
      continue;
    }
    const digest = rowDigest(checked.request, output ?? undefined);
    if (defaults.shard && !isInShard(digest, defaults.shard)) continue;
    const unusedNames = unusedColumns(others, defaults);
    if (defaults.refusesUnused && unusedNames.length > 0) refuse(`unknown keys: ${unusedNames.join(", ")}`);
    for (const name of unusedNames) if (unused.size < MAX_UNUSED_NAMES) unused.add(name);
    if (problems.length > 0) continue;
    const uncutRequest = uncut === undefined ? null : { ...checked.request, prompt: uncut };
    const uncutEntry = uncutRequest && {
      uncutKey: uncutKeys.next(rowDigest(uncutRequest, output ?? undefined)),
    };
    const key = keys.next(digest);
    if (skipsRows && isRepeat(key)) continue;
    const nextPosition = rows.length + 1;
    const position = skipsRows ? { row: nextPosition, line: nextPosition } : { row, line };
    rows.push({ ...position, checked, output, ...fileName, key, ...uncutEntry });
  }
  if (problems.length > 0) throw new ManifestError(problems);
  return { rows, skipped, unused: [...unused] };
}

const NO_COLUMNS: OtherColumns = new Map();

/** Replaces the columns in --name with the row's values. @returns a message if a value is missing */
function fillFileName(others: OtherColumns, { name, words }: RowDefaults): { template?: string } | string {
  if (name === undefined || listPlaceholders(name).every(isPlaceholder)) return {};
  // Placeholders such as {index} are kept, because they are filled when the image is saved.
  const filled = fillTemplate(name, (each) => {
    const column = findColumn(each) ?? each;
    return isPlaceholder(column) ? `{${column}}` : others.get(each)?.replaceAll(UNSAFE_IN_NAME, "-");
  });
  return "text" in filled
    ? { template: filled.text }
    : missingProblem(words.options.name ?? "name", filled.missing);
}

const UNSAFE_IN_NAME = /[{}/\\\p{Cc}]/gu;

function unusedColumns(others: OtherColumns, defaults: RowDefaults): string[] {
  const usedColumns = listUsedNames(defaults);
  return [...others.keys()].filter((each) => !usedColumns.has(each)).slice(0, MAX_UNUSED_NAMES);
}

async function checkValues(
  { output: _output, ...values }: RowValues,
  defaults: RowDefaults,
): Promise<{ input: RequestInput; checked: CheckedRequest | ImggenError }> {
  const { rowLabels = FIELD_LABELS } = defaults;
  const input: RequestInput = { ...defaults.values, ...values };
  const labels = { ...rowLabels, ...getDefaultLabels(values, defaults) };
  return { input, checked: await checkRow(input, { ...defaults, labels }) };
}

function describeProblem({ wording }: ImggenError, { words }: RowDefaults): string {
  return formatWording([wording.message, wording.hint ?? ""], words);
}

function getDefaultLabels(values: Omit<RowValues, "output">, { labels }: RowDefaults): Partial<Labels> {
  const inherited = Object.entries(labels).filter(
    ([name]) => values[name as keyof typeof values] === undefined,
  );
  return Object.fromEntries(inherited);
}
