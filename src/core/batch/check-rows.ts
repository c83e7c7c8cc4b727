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

/** Values for rows that do not set their own, and what rows are checked against. */
export interface RowDefaults extends RowChecks, ReadOptions {
  values: Omit<RequestInput, "prompt">;
  /** Source of the defaults, for messages about them. */
  labels: Partial<Labels>;
  /** The words of messages. */
  words: Vocabulary;
  shard: Shard | null;
  /** Whether a column that nothing uses is a problem. Default false. */
  refusesUnused?: boolean;
  /** Name in messages of a value that a row sets itself (default: as a column). */
  rowLabels?: Labels;
  /** Whether a row that cannot be submitted is skipped, and a repeated row left out. Default false. */
  skipsRows?: boolean;
  /** Whether the error of the first bad row is thrown as it is, for rows that one request was made into. Default false. */
  throwsFirst?: boolean;
}

/** The rows of a manifest. */
interface CheckedRows {
  rows: CheckedRow[];
  skipped: SkippedRow[];
  /** Names of columns that nothing uses, the first few. */
  unused: string[];
}

/** A row that is not submitted, with its defaults. */
export interface SkippedRow {
  input: RequestInput;
  reason: string;
  /** Values that its model takes in place of its ratio or its quality; null if that is not the reason. */
  limit: Limit | null;
}

/** At most this many unused columns are named: a file that is no manifest may have any number of them. */
const MAX_UNUSED_NAMES = 10;

/**
 * Checks all rows of a manifest against the model matrix. Rows of other shards are checked too, and then left out.
 * @throws ManifestError naming every bad one; ImggenError of the first
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

/** The row's file name template, where `--name` asks for columns; or what is wrong, in words. */
function fillFileName(others: OtherColumns, { name, words }: RowDefaults): { template?: string } | string {
  if (name === undefined || listPlaceholders(name).every(isPlaceholder)) return {};
  // Placeholders in a name have values only once there is an image.
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

/** Checks a row's values, with the defaults for those that it does not set. */
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

/** Labels of the values that the row leaves to the defaults: the flag or setting that set them. */
function getDefaultLabels(values: Omit<RowValues, "output">, { labels }: RowDefaults): Partial<Labels> {
  const inherited = Object.entries(labels).filter(
    ([name]) => values[name as keyof typeof values] === undefined,
  );
  return Object.fromEntries(inherited);
}
