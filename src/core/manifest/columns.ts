import { editDistance } from "../../models/edit-distance.ts";
import { FIELD_NAMES, type FieldName, isFieldName } from "../../task/request-fields.ts";
import { quoted } from "./quoted.ts";

export type Column = FieldName | "output";

/** The columns of a CSV manifest and the keys of a JSON one. Only `prompt` must be there. */
export const COLUMNS: readonly Column[] = [...FIELD_NAMES, "output"];

export const COLUMN_LIST = COLUMNS.join(", ");

/** A row's values before they are checked. `null` and `undefined` mean "not set". */
export type RawValues = Partial<Record<Column, unknown>>;

export function isColumn(name: string): name is Column {
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
export function nearestColumn(name: string): Column | undefined {
  const plain = name.toLowerCase().replace(/[^a-z]/g, "");
  if (plain === "" || plain.length > LONGEST_GUESSED) return undefined;
  const near = COLUMNS.map((column) => ({ column, slips: editDistance(plain, column.toLowerCase()) }));
  const [best] = near.sort((a, b) => a.slips - b.slips);
  return best !== undefined && best.slips <= MOST_SLIPS ? best.column : undefined;
}
