import { ManifestError, type ManifestProblem } from "../errors.ts";
import type { ManifestEntry } from "../manifest/entry.ts";
import type { CheckedRow } from "./batch-row.ts";
import { checkRows, isRow, type RowDefaults } from "./check-rows.ts";

/** At most this many unused columns are named in a message. */
const MOST_NAMED = 10;

/** The rows of a manifest, and names of columns that nothing uses, the first few. */
export interface CheckedRows {
  rows: CheckedRow[];
  unused: string[];
}

/**
 * All rows of a manifest, once every one is known to be good.
 * @param defaults `refusesUnused`: whether a name that nothing uses is a problem
 * @throws ManifestError naming every bad one
 */
export async function checkedRows(
  source: AsyncIterable<ManifestEntry>,
  defaults: RowDefaults & { refusesUnused?: boolean },
): Promise<CheckedRows> {
  const rows: CheckedRow[] = [];
  const unused = new Set<string>();
  const problems: ManifestProblem[] = [];
  for await (const each of checkRows(source, defaults)) {
    if (!isRow(each)) {
      problems.push(each);
      continue;
    }
    // Not kept with the row: a batch may have a million of them.
    const { unused: names = [], ...row } = each;
    if (defaults.refusesUnused && names.length > 0)
      problems.push({ line: row.line, message: `unknown keys: ${names.join(", ")}` });
    for (const name of names) if (unused.size < MOST_NAMED) unused.add(name);
    if (problems.length === 0) rows.push(row);
  }
  if (problems.length > 0) throw new ManifestError(problems);
  return { rows, unused: [...unused] };
}
