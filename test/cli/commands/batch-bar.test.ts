import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BatchView, batchLines } from "../../../src/cli/commands/batch/run-shown.ts";
import { holds } from "../../support/holds.ts";

const VIEW: BatchView = {
  rows: 40,
  endedRows: 12,
  endedInThisRun: 10,
  remainingRows: 28,
  running: 4,
  failed: 2,
  credits: 24,
  budget: 100,
  elapsedMs: 65_400,
};

const lines = (columns: number, view: Partial<BatchView> = {}) =>
  batchLines({ ...VIEW, ...view }, columns, true);

describe("the bar of a batch", () => {
  it("shows rows, failures, what runs, credits of the budget, time left, time and rate in two lines", () => {
    expect(lines(98)).toEqual([
      "━━━━━━━━━───────────────────── 12 of 40 rows · 2 failed · 4 running",
      "24 of 100 credits · about 3 min left · 1 min 5 s · 9 rows/min",
    ]);
  });

  it("leaves out what matters least where there is less room", () => {
    expect(lines(58)).toEqual([
      "━━━━━━─────────────── 12 of 40 rows · 2 failed · 4 running",
      "24 of 100 credits · about 3 min left · 1 min 5 s",
    ]);
    expect(lines(38)).toEqual([
      "━━━────────── 12 of 40 rows · 2 failed",
      "24 of 100 credits · about 3 min left",
    ]);
    expect(lines(20)).toEqual(["━───── 12 of 40 rows", "24 of 100 credits"]);
  });

  it("counts only rows that this run has something to do for into the time left", () => {
    expect(lines(98, { endedRows: 32, endedInThisRun: 1, remainingRows: 8, elapsedMs: 5000 })[1]).toContain(
      "about 40 s left",
    );
    expect(lines(98, { endedRows: 30, endedInThisRun: 0, remainingRows: 10 })[1]).not.toContain("left");
  });

  it("rounds the time left, as it is not known to the second", () => {
    expect(lines(98, { endedInThisRun: 10, remainingRows: 9, elapsedMs: 30_100 })[1]).toContain(
      "about 25 s left",
    );
    expect(lines(98, { endedInThisRun: 10, remainingRows: 1, elapsedMs: 3000 })[1]).toContain(
      "about 5 s left",
    );
  });

  it("says nothing of credits that are not known, and has a bar of letters where there are no symbols", () => {
    expect(lines(98, { budget: null })[1]).not.toContain("credits");
    expect(batchLines(VIEW, 60, false)[0]).toMatch(/^#+-+ 12 of 40 rows/);
  });

  it("fits, whatever the numbers are", () => {
    const count = fc.nat(1_000_000);
    const view = fc.record({
      rows: count,
      endedRows: count,
      endedInThisRun: count,
      remainingRows: count,
      running: fc.nat(256),
      failed: count,
      credits: count,
      budget: fc.option(count),
      elapsedMs: fc.nat(100 * 3_600_000),
    });
    holds(
      fc.property(view, fc.integer({ min: 8, max: 200 }), (any, columns) => {
        const some = { ...any, endedRows: Math.min(any.endedRows, any.rows) };
        for (const line of batchLines(some, columns, true)) expect(line.length).toBeLessThanOrEqual(columns);
      }),
    );
  });
});
