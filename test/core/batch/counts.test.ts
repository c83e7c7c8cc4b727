import { describe, expect, it } from "vitest";
import { GenerationFailedError, NetworkError } from "../../../src/api/errors.ts";
import { BatchCounts } from "../../../src/core/batch/counts.ts";
import { PendingError } from "../../../src/core/errors.ts";
import { endOf, newRow, newRows, REPORT } from "./some-rows.ts";

const newTally = () => new BatchCounts(({ line }) => `line ${line}`);

describe("a batch's tally", () => {
  it("is complete while every row is saved, by whichever run", () => {
    const tally = newTally();
    tally.add(endOf());
    tally.add(endOf({ isSkipped: true, bought: false }));
    expect(tally).toMatchObject({ saved: 1, skipped: 1, isComplete: true, troubles: [], drifts: [] });
  });

  it.each([
    ["failed", "failed"],
    ["unknown", "unknown"],
    ["unfinished", "pending"],
    ["waiting", "pending"],
    ["new", "notSent"],
  ] as const)("is not with a row that is %s, which counts as %s", (state, count) => {
    const tally = newTally();
    tally.add(endOf());
    tally.add(endOf({ state, error: new NetworkError("No.") }));
    expect(tally.isComplete).toBe(false);
    expect(tally[count]).toBe(1);
  });

  it("sums what this run has bought, or may have: not what was refused, nor what an earlier run bought", () => {
    const tally = newTally();
    tally.add(endOf());
    tally.add(endOf({ report: { ...REPORT, credits: null } }));
    tally.add(endOf({ state: "unknown", report: { ...REPORT, charged: "unknown", credits: 4 } }));
    tally.add(endOf({ state: "failed", report: { ...REPORT, charged: "no", credits: 8 } }));
    tally.add(endOf({ state: "new", report: null, bought: false }));
    tally.add(endOf({ isSkipped: true, bought: false }));
    expect(tally.cost).toEqual({ rows: 3, credits: 6, undocumented: 1 });
  });

  it("counts the failed that cost nothing, so that the next run tries them again", () => {
    const tally = newTally();
    const error = new GenerationFailedError("No.", { charged: "unknown" });
    tally.add(endOf({ state: "failed", error, report: { ...REPORT, charged: "unknown" } }));
    tally.add(endOf({ state: "failed", error, report: { ...REPORT, charged: "no" } }));
    tally.add(endOf({ state: "failed", error: new NetworkError("Down."), report: null }));
    tally.add(endOf({ state: "failed", error, report: null }));
    expect(tally).toMatchObject({ failed: 4, refused: 2 });
  });

  it("says once what is wrong with many rows, the most frequent first, and names the first few", () => {
    const tally = newTally();
    tally.add(endOf({ state: "failed", error: new NetworkError("The cable is out.") }));
    const rows = newRows(...Array.from({ length: 9 }, (_, index) => `fox ${index}`));
    for (const row of rows) {
      const error = new PendingError(`Task ${row.row} is still running.`);
      tally.add(endOf({ row, state: "unfinished", error }));
    }
    expect(tally.troubles).toMatchObject([
      { count: 9, names: ["line 1", "line 2", "line 3", "line 4", "line 5"], error: { type: "pending" } },
      { count: 1, names: ["line 1"], error: { type: "network" } },
    ]);
  });

  it("keeps what the service calls by different keys apart, up to a number of them", () => {
    const tally = newTally();
    for (let key = 0; key < 80; key++)
      tally.add(endOf({ state: "failed", error: new NetworkError("No.", { key: `key.${key}` }) }));
    expect(tally.failed).toBe(80);
    expect(tally.troubles).toHaveLength(50);
  });

  it("counts each way in which images differ from what was asked", () => {
    const tally = newTally();
    for (const drift of [["too wide"], [], ["too wide", "too few"]]) tally.add(endOf({ drift }));
    expect(tally.drifts).toEqual([
      ["too wide", 2],
      ["too few", 1],
    ]);
  });

  it.each([
    ["new", "notSent"],
    ["unfinished", "pending"],
    ["saved", "skipped"],
    ["failed", "failed"],
    ["unknown", "unknown"],
  ] as const)("counts a row that this run did not come to as it stood: %s is %s", (state, count) => {
    const tally = newTally();
    tally.leave({ ...newRow(), state });
    expect(tally[count]).toBe(1);
    expect(tally.cost.rows).toBe(0);
  });

  it("counts what a row may have cost that was begun and not told of", () => {
    const tally = newTally();
    tally.abandon({ ...newRow(), state: "new" });
    tally.abandon({ ...newRow(), state: "unknown", resubmit: "an attempt" });
    tally.abandon({ ...newRow(), state: "unfinished" });
    expect([tally.unknown, tally.pending, tally.cost.rows]).toEqual([2, 1, 2]);
  });
});
