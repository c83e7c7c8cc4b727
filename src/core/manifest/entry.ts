import { editDistance } from "../../lib/edit-distance.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { RequestInput } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName } from "../../task/request-fields.ts";
import type { ManifestProblem } from "../errors.ts";

export type ManifestColumn = FieldName | "output";

/** Only `prompt` is required. */
export const MANIFEST_COLUMNS: readonly ManifestColumn[] = [...FIELD_NAMES, "output"];

export const COLUMN_LIST = MANIFEST_COLUMNS.join(", ");

/** Values that are not checked yet. `null` and `undefined` mean "not set". */
export type RawValues = Partial<Record<ManifestColumn, unknown>>;

const BY_PLAIN_NAME = new Map(MANIFEST_COLUMNS.map((column) => [column.toLowerCase(), column]));

/** Ignores case, spaces, `-` and `_`. */
export function findColumn(name: string): ManifestColumn | undefined {
  return BY_PLAIN_NAME.get(name.toLowerCase().replace(/[\s_-]/g, ""));
}

export function unusedColumnWarning(name: string): string {
  return `The column ${quote(name)} is not used; {${name}} can be used in a template and in a file name.`;
}

export function repeatedColumnProblem(column: string): string {
  return `the column ${column} occurs more than once`;
}

/** Probably a misspelled column, which is refused, so that rows are not charged with wrong settings. */
export interface MisspelledName {
  nearest: ManifestColumn;
  message: string;
}

export function findMisspelled(names: Iterable<string>, options: ReadOptions): MisspelledName[] {
  const usedColumns = listUsedNames(options);
  return [...names].flatMap((each) => {
    const nearest = usedColumns.has(each) ? undefined : nearestColumn(each);
    if (nearest === undefined) return [];
    const message = `unknown column ${quote(each)}; did you mean ${quote(nearest)}? If not, rename the column`;
    return [{ nearest, message }];
  });
}

const MAX_NAME_LENGTH = 24;

function nearestColumn(name: string): ManifestColumn | undefined {
  const letters = name.toLowerCase().replace(/[^a-z]/g, "");
  if (letters === "" || letters.length > MAX_NAME_LENGTH) return undefined;
  return MANIFEST_COLUMNS.find((column) => isMisspelled(letters, column.toLowerCase()));
}

/** Whether at most one letter in four differs, or two are swapped. `quantity` and `page` must not match a column. */
function isMisspelled(name: string, column: string): boolean {
  const edits = editDistance(name, column);
  const sortLetters = (word: string) => [...word].sort().join("");
  return edits <= Math.floor(column.length / 4) || (edits === 2 && sortLetters(name) === sortLetters(column));
}

/** Texts in the columns of a row that are not request fields, by column name. */
export type OtherColumns = ReadonlyMap<string, string>;

const NAME_IN_BRACES = /\{([^{}]*)\}/g;

export function listPlaceholders(template: string): string[] {
  return [...new Set([...template.matchAll(NAME_IN_BRACES)].map(([, name = ""]) => name.trim()))];
}

/**
 * @param getText returns the row's text for a name; undefined or blank if there is no text
 * @returns the filled text, or the names for which there is no text
 */
export function fillTemplate(
  template: string,
  getText: (name: string) => string | undefined,
): { text: string } | { missing: string[] } {
  const missing = listPlaceholders(template).filter((name) => (getText(name) ?? "").trim() === "");
  if (missing.length > 0) return { missing };
  return { text: template.replace(NAME_IN_BRACES, (_all, name: string) => getText(name.trim()) ?? "") };
}

export function missingProblem(option: string, missing: readonly string[]): string {
  const names = missing.map((name) => `{${name}}`).join(" ");
  return `the row has no value for ${names}, which ${option} uses`;
}

/** Values that are not checked against the model yet. The batch's defaults replace absent values. */
export interface RowValues extends RequestInput {
  /** Path below the output folder. */
  output?: string;
}

interface ManifestRow {
  others?: OtherColumns;
  line: number;
  values: RowValues;
  /** The untrimmed prompt; absent if nothing was trimmed. */
  uncut?: string;
}

export type ManifestEntry = ManifestRow | ManifestProblem;

export interface ReadOptions {
  /** Template for the prompt of rows without a prompt; absent if such rows are invalid. */
  template?: string | undefined;
  /** Template of file names. It can contain other columns in braces too. */
  name?: string | undefined;
  /** Seeds for which each row without a seed is repeated; absent if no row is repeated. */
  seeds?: RowSeeds | undefined;
}

export interface RowSeeds {
  seeds: readonly WholeNumber[];
  /** Name of the generator's seed field, if any. */
  field: string | undefined;
}

export function* withSeeds(entry: ManifestEntry, { seeds, field }: RowSeeds): Generator<ManifestEntry> {
  if ("message" in entry || hasSeed(entry.values, field)) return yield entry;
  const { line, values } = entry;
  if (values.output !== undefined)
    yield {
      line,
      message: `output ${quote(values.output)} is one file, but several seeds make several files`,
    };
  else if ((values.maxImages ?? 1) > 1)
    yield {
      line,
      message: `maxImages is ${values.maxImages}, but with several seeds each row makes one image`,
    };
  else for (const seed of seeds) yield { ...entry, values: { ...values, seed } };
}

function hasSeed({ seed, fields = {} }: RowValues, field: string | undefined): boolean {
  return seed !== undefined || (field !== undefined && Object.hasOwn(fields, field));
}

export function listUsedNames({ template = "", name = "" }: ReadOptions): ReadonlySet<string> {
  return new Set([...listPlaceholders(template), ...listPlaceholders(name)]);
}

const MAX_QUOTED_LENGTH = 60;

export function quote(text: string): string {
  if (text.length <= MAX_QUOTED_LENGTH) return `"${text}"`;
  return `"${Array.from(text.slice(0, MAX_QUOTED_LENGTH + 1))
    .slice(0, MAX_QUOTED_LENGTH)
    .join("")}…"`;
}
