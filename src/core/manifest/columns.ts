import { editDistance } from "../../models/edit-distance.ts";
import { FIELD_NAMES, type FieldName } from "../../task/request-fields.ts";
import { quoted, type ReadOptions, usedNames } from "./entry.ts";

export type ManifestColumn = FieldName | "output";

/** The columns of a CSV manifest and the keys of a JSON one. Only `prompt` must be there. */
export const MANIFEST_COLUMNS: readonly ManifestColumn[] = [...FIELD_NAMES, "output"];

export const COLUMN_LIST = MANIFEST_COLUMNS.join(", ");

/** A row's values before they are checked. `null` and `undefined` mean "not set". */
export type RawValues = Partial<Record<ManifestColumn, unknown>>;

const BY_PLAIN_NAME = new Map(MANIFEST_COLUMNS.map((column) => [column.toLowerCase(), column]));

/** The column that a name is for: in any case, with spaces, `-` or `_` between words. */
export function columnOf(name: string): ManifestColumn | undefined {
  return BY_PLAIN_NAME.get(name.toLowerCase().replace(/[\s_-]/g, ""));
}

/** What is said of a name that no request has: it does nothing, unless a template asks for it. */
export function unknownName(name: string): string {
  return `The column ${quoted(name)} is not used; {${name}} can be used in --template and --name.`;
}

export function repeatedColumn(column: string): string {
  return `the column ${column} is there more than once`;
}

/** A name that is probably a misspelled column. To ignore it would charge for rows with the wrong settings. */
export interface NearName {
  meant: ManifestColumn;
  message: string;
}

/** The names that are no column but near one, and that no template asks for. */
export function nearNames(names: Iterable<string>, options: ReadOptions): NearName[] {
  const used = usedNames(options);
  return [...names].flatMap((each) => {
    const meant = used.has(each) ? undefined : nearestColumn(each);
    if (meant === undefined) return [];
    const message = `there is no column ${quoted(each)}; did you mean ${quoted(meant)}? If not, rename it`;
    return [{ meant, message }];
  });
}

const LONGEST_GUESSED = 24;

function nearestColumn(name: string): ManifestColumn | undefined {
  const letters = name.toLowerCase().replace(/[^a-z]/g, "");
  if (letters === "" || letters.length > LONGEST_GUESSED) return undefined;
  return MANIFEST_COLUMNS.find((column) => isNear(letters, column.toLowerCase()));
}

/** One letter in four may differ, or two be swapped: `quantity` and `page` are names of their own. */
function isNear(name: string, column: string): boolean {
  const slips = editDistance(name, column);
  const sorted = (word: string) => [...word].sort().join("");
  return slips <= Math.floor(column.length / 4) || (slips === 2 && sorted(name) === sorted(column));
}
