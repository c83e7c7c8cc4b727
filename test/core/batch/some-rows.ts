import { type CheckedRow, RowKeys, rowDigest } from "../../../src/core/batch/batch-row.ts";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import type { RowResult } from "../../../src/core/batch/row-result.ts";
import type { TaskReport } from "../../../src/core/engine/report.ts";

/** Rows of a manifest, one for each prompt, at 2 credits each. */
export function rowsOf(...prompts: string[]): CheckedRow[] {
  const keys = new RowKeys();
  return prompts.map((prompt, index) => {
    const request = { prompt, model: "gamma-image-2" };
    const key = keys.next(rowDigest(request, undefined));
    const checked = { request, credits: 2, warnings: [] };
    return { row: index + 1, line: index + 1, checked, output: null, key };
  });
}

/** Rows that nothing has become of yet. */
export function newRows(...prompts: string[]): PlannedRow[] {
  return rowsOf(...prompts).map((row) => ({ ...row, attempts: [], state: "new", resubmit: null }));
}

/** A row's first, on its own. */
export function newRow(prompt = "a fox"): PlannedRow {
  return newRows(prompt)[0] as PlannedRow;
}

/** A report on a task that went well. */
export const REPORT: TaskReport = {
  ledgerId: "20260131T120000000-00000001",
  taskId: "task-1",
  state: "saved",
  isAwaited: true,
  request: { prompt: "a fox", model: "gamma-image-2" },
  credits: 2,
  charged: "yes",
  urls: [],
  files: [],
  submittedAt: null,
  completedAt: null,
  elapsedMs: null,
  warnings: [],
  error: null,
};

/** How a row ended, as far as a test does not say otherwise. */
export function endOf(end: Partial<RowResult> = {}): RowResult {
  return {
    row: newRow(),
    state: "saved",
    isSkipped: false,
    report: REPORT,
    error: null,
    isSubmitted: true,
    ...end,
  };
}
