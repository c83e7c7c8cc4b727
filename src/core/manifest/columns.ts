import { editDistance } from "../../models/edit-distance.ts";
import { FIELD_NAMES, type FieldName, isFieldName } from "../../task/request-fields.ts";
import { quoted } from "./quoted.ts";

export type ManifestColumn = FieldName | "output";

/** The columns of a CSV manifest and the keys of a JSON one. Only `prompt` must be there. */
export const MANIFEST_COLUMNS: readonly ManifestColumn[] = [...FIELD_NAMES, "output"];

export const COLUMN_LIST = MANIFEST_COLUMNS.join(", ");

/** A row's values before they are checked. `null` and `undefined` mean "not set". */
export type RawValues = Partial<Record<ManifestColumn, unknown>>;

export function isColumn(name: string): name is ManifestColumn {
  return name === "output" || isFieldName(name);
}

/** What is said of a name that no request has: it does nothing, unless a template asks for it. */
export function unknownName(name: string): string {
  const meant = nearestColumn(name);
  const advice = meant === undefined ? "" : ` Did you mean ${quoted(meant)}?`;
  return `The column ${quoted(name)} is not used; {${name}} can be used in --template and --name.${advice}`;
}

const MOST_SLIPS = 2;
const LONGEST_GUESSED = 24;

/** The column nearest to an unknown name: another case, a hyphen, or one or two typos. */
export function nearestColumn(name: string): ManifestColumn | undefined {
  const plain = name.toLowerCase().replace(/[^a-z]/g, "");
  if (plain === "" || plain.length > LONGEST_GUESSED) return undefined;
  const near = MANIFEST_COLUMNS.map((column) => ({
    column,
    slips: editDistance(plain, column.toLowerCase()),
  }));
  const [best] = near.sort((a, b) => a.slips - b.slips);
  return best !== undefined && best.slips <= MOST_SLIPS ? best.column : undefined;
}
