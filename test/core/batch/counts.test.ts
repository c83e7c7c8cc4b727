import { describe, expect, it } from "vitest";
import { GenerationFailedError, NetworkError } from "../../../src/api/api-errors.ts";
import { BatchCounts } from "../../../src/core/batch/counts.ts";
import { PendingError } from "../../../src/core/errors.ts";
import { endOf, newRow, newRows, REPORT } from "./some-rows.ts";

const newCounts = () => new BatchCounts(({ line }) => `line ${line}`);

describe("the counts of a batch", () => {
  it("is complete while every row is saved, by this run or an earlier one", () => {
    const counts = newCounts();
    counts.add(endOf());
    counts.add(endOf({ isSkipped: true, isSubmitted: false }));
    expect(counts).toMatchObject({ saved: 1, skipped: 1, isComplete: true, errors: [], mismatches: [] });
  });

  it.each([
    ["failed", "failed"],
    ["unknown", "unknown"],
    ["unfinished", "pending"],
    ["waiting", "pending"],
    ["new", "notSent"],
  ] as const)("is not with a row that is %s, which counts as %s", (state, count) => {
    const counts = newCounts();
    counts.add(endOf());
    counts.add(endOf({ state, error: new NetworkError("No.") }));
    expect(counts.isComplete).toBe(false);
    expect(counts[count]).toBe(1);
  });

  it("sums what this run was or may have been charged: not refused rows, nor the charges of earlier runs", () => {
    const counts = newCounts();
    counts.add(endOf());
    counts.add(endOf({ report: { ...REPORT, credits: null } }));
    counts.add(endOf({ state: "unknown", report: { ...REPORT, charged: "unknown", credits: 4 } }));
    counts.add(endOf({ state: "failed", report: { ...REPORT, charged: "no", credits: 8 } }));
    counts.add(endOf({ state: "new", report: null, isSubmitted: false }));
    counts.add(endOf({ isSkipped: true, isSubmitted: false }));
    expect(counts.cost).toEqual({ rows: 3, credits: 6, undocumented: 1 });
  });

  it("counts the failed that cost nothing, so that the next run tries them again", () => {
    const counts = newCounts();
    const error = new GenerationFailedError("No.", { charged: "unknown" });
    counts.add(endOf({ state: "failed", error, report: { ...REPORT, charged: "unknown" } }));
    counts.add(endOf({ state: "failed", error, report: { ...REPORT, charged: "no" } }));
    counts.add(endOf({ state: "failed", error: new NetworkError("Down."), report: null }));
    counts.add(endOf({ state: "failed", error, report: null }));
    expect(counts).toMatchObject({ failed: 4, refused: 2 });
  });

  it("says once what is wrong with many rows, the most frequent first, and names the first few", () => {
    const counts = newCounts();
    counts.add(endOf({ state: "failed", error: new NetworkError("The cable is out.") }));
    const rows = newRows(...Array.from({ length: 9 }, (_, index) => `fox ${index}`));
    for (const row of rows) {
      const error = new PendingError(`Task ${row.row} is still running.`);
      counts.add(endOf({ row, state: "unfinished", error }));
    }
    expect(counts.errors).toMatchObject([
      { count: 9, names: ["line 1", "line 2", "line 3", "line 4", "line 5"], error: { type: "pending" } },
      { count: 1, names: ["line 1"], error: { type: "network" } },
    ]);
  });

  it("keeps what the service calls by different keys apart, up to a number of them", () => {
    const counts = newCounts();
    for (let key = 0; key < 80; key++)
      counts.add(endOf({ state: "failed", error: new NetworkError("No.", { key: `key.${key}` }) }));
    expect(counts.failed).toBe(80);
    expect(counts.errors).toHaveLength(50);
  });

  it("counts what is remarkable about images, but for what was said before, or names one of them", () => {
    const counts = newCounts();
    const file = {
      path: "/out/fox.jpg",
      url: "",
      mediaType: "image/png",
      bytes: 1,
      sha256: "",
      width: 9,
      height: 1,
    };
    const [row = newRow()] = newRows("a fox");
    row.checked.warnings.push("an estimate");
    const add = (warnings: string[], isSkipped = false) =>
      counts.add(endOf({ row, isSkipped, report: { ...REPORT, files: [file], warnings } }));
    const [size, equal] = ["Requested 9×9 pixels, received 9×1.", "2 of the 2 images are identical."];
    add([size, "an estimate"]);
    add([size, size, equal, "fox.jpg contains a PNG image."]);
    add([size], true);
    expect(counts.mismatches).toEqual([
      [size, 2],
      [equal, 1],
    ]);
    for (let row = 0; row < 20; row++) add([`warning ${row}`, size]);
    expect(counts.mismatches).toHaveLength(10);
    expect(counts.mismatches[0]).toEqual([size, 22]);
  });

  it.each([
    ["new", "notSent"],
    ["unfinished", "pending"],
    ["saved", "skipped"],
    ["failed", "failed"],
    ["unknown", "unknown"],
  ] as const)("counts a row that this run did not come to as it stood: %s is %s", (state, count) => {
    const counts = newCounts();
    counts.addUnstarted({ ...newRow(), state });
    expect(counts[count]).toBe(1);
    expect(counts.cost.rows).toBe(0);
  });

  it("counts what a row may have cost that was begun and not told of", () => {
    const counts = newCounts();
    counts.addUnfinished({ ...newRow(), state: "new" });
    counts.addUnfinished({ ...newRow(), state: "unknown", resubmit: "an attempt" });
    counts.addUnfinished({ ...newRow(), state: "unfinished" });
    expect([counts.unknown, counts.pending, counts.cost.rows]).toEqual([2, 1, 2]);
  });
});
