import type { BatchResult } from "../core/batch/batch-spec.ts";
import { documentedTotal } from "../core/batch/plan.ts";
import type { RowResult } from "../core/batch/row-result.ts";
import { counted } from "../lib/whole-number.ts";
import type { Words } from "../lib/wording.ts";
import { describeFailure } from "./failure.ts";
import { savedJson } from "./report-json.ts";
import type { BatchRow, BatchSummary } from "./results.ts";

/** A row as scripts get it: the object of `generate`, and which row it is. @param words the words of its error */
export function rowJson({ row, isSkipped, report, error }: RowResult, words: Words): BatchRow {
  const place = { row: row.row, line: row.line };
  if (report) return { ...savedJson(report, words), ...place, ...(isSkipped && { skipped: true }) };
  return { ...describeFailure(error, words), files: [], warnings: [], ...place };
}

/** The last line for scripts. The rows are those saved, skipped, unknown and failed; the rest is a part of the last. */
export function summaryJson({ counts, rows, charged }: BatchResult): BatchSummary {
  const { saved, skipped, unknown, pending, waiting, notSent, cost } = counts;
  const failed = counts.failed + pending + notSent;
  const warnings = counts.mismatches.map(([what, count]) => `${what} (${counted(count, "row")})`);
  return {
    type: "summary",
    rows,
    saved,
    failed,
    unknown,
    skipped,
    pending,
    waiting,
    notSent,
    credits: documentedTotal(cost),
    creditsBefore: documentedTotal(charged),
    warnings,
  };
}
