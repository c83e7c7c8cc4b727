import type { BatchRow } from "../../../core/batch/batch-row.ts";
import { checkRows, isRow, type ManifestProblem, type RowDefaults } from "../../../core/batch/check-rows.ts";
import { ManifestError } from "../../../core/batch/manifest-error.ts";
import type { ManifestSource } from "../../input/manifest-source.ts";

/** Goes through a manifest to its end. @throws ManifestError where anything in it is wrong */
export async function eachRow(
  source: ManifestSource,
  defaults: RowDefaults,
  take: (row: BatchRow) => unknown,
): Promise<void> {
  const problems: ManifestProblem[] = [];
  for await (const each of checkRows(source(), defaults)) {
    if (!isRow(each)) problems.push(each);
    else if (problems.length === 0) await take(each);
  }
  if (problems.length > 0) throw new ManifestError(problems);
}
