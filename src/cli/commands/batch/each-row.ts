import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import { checkRows, isRow, type ManifestProblem, type RowDefaults } from "../../../core/batch/check-rows.ts";
import { ManifestError } from "../../../core/batch/manifest-error.ts";
import type { ManifestEntry } from "../../../core/manifest/entry.ts";

/** At most this many unused columns are named in a message. */
const MOST_NAMED = 10;

/**
 * Goes through a manifest to its end.
 * @returns names of columns that nothing uses, the first few
 * @throws ManifestError if anything in it is wrong
 */
export async function eachRow(
  source: AsyncIterable<ManifestEntry>,
  defaults: RowDefaults,
  take: (row: CheckedRow) => unknown,
): Promise<string[]> {
  const unused = new Set<string>();
  const problems: ManifestProblem[] = [];
  for await (const each of checkRows(source, defaults)) {
    if (!isRow(each)) problems.push(each);
    else if (problems.length === 0) {
      // Not kept with the row: a batch may have a million of them.
      const { unused: names = [], ...row } = each;
      for (const name of names) if (unused.size < MOST_NAMED) unused.add(name);
      await take(row);
    }
  }
  if (problems.length > 0) throw new ManifestError(problems);
  return [...unused];
}
