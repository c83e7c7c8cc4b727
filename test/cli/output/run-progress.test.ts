import { describe, expect, it } from "vitest";
import { fold, newRun } from "../../../src/cli/output/run-progress.ts";
import { BatchCounts } from "../../../src/core/batch/counts.ts";
import type { BatchPlan } from "../../../src/core/batch/plan.ts";
import { endOf, newRows, REPORT } from "../../core/batch/some-rows.ts";

const cost = (credits: number) => ({ rows: 0, credits, undocumented: 0 });

/** A batch of three rows, one of which an earlier run has saved, once two have ended. */
function batchWith(cap: number | null) {
  const run = newRun();
  const [hen, ...others] = newRows("a hen", "a fox", "an owl");
  const rows = hen ? [{ ...hen, state: "saved" as const }, ...others] : [];
  const costs = { toSubmit: cost(4), charged: cost(2), chargedForOthers: cost(1) };
  const plan: BatchPlan = { rows, ...costs, claimed: new Set() };
  fold(run, { type: "planned", plan, cap }, 0);
  for (const at of [100, 200, 300]) fold(run, { type: "row_begun" }, at);
  const counts = new BatchCounts(() => "");
  const saved = endOf({ isSkipped: true, isSubmitted: false });
  const unknown = endOf({ state: "unknown", report: { ...REPORT, charged: "unknown", credits: 2 } });
  for (const result of [saved, unknown]) {
    counts.add(result);
    fold(run, { type: "row_ended", result, counts }, 400);
  }
  return run.batch;
}

describe("what is known of a batch", () => {
  it("counts apart the rows that this run had something to do for, from the first that was begun", () => {
    const counts = { rows: 3, endedRows: 2, endedInThisRun: 1, remainingRows: 1, running: 1, failed: 1 };
    expect(batchWith(null)).toMatchObject({ ...counts, startMs: 100 });
  });

  it("measures what is charged by a cap with earlier runs, else by what is to be submitted", () => {
    expect(batchWith(50)).toMatchObject({ credits: 5, budget: 50 });
    expect(batchWith(null)).toMatchObject({ credits: 2, budget: 4 });
  });
});

describe("what is known of a task", () => {
  it("is not changed by what tells nothing of it", () => {
    const run = newRun();
    fold(run, { type: "accepted", taskId: "t1", request: 0 }, 0);
    expect(fold(run, { type: "poll_failed", taskId: "t1", why: "reset" }, 1)).toBe(false);
    expect(fold(run, { type: "waiting", taskId: "t1", usualMs: 5 }, 1)).toBe(true);
    expect(run.task).toMatchObject({ step: "Generating", sinceMs: 0, taskId: "t1", usualMs: 5 });
  });
});
