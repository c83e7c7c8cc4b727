import { describe, expect, it } from "vitest";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import { mismatchWarnings, rowResult } from "../../../src/core/batch/row-result.ts";
import { taskReport } from "../../../src/core/engine/report.ts";
import type { GenerationRequest } from "../../../src/task/request.ts";
import type { SavedFile } from "../../../src/task/saved-file.ts";
import { CANCELLED } from "../../../src/task/task.ts";
import { LINES, recordOf, WORK } from "../../support/records.ts";

function image(width: number, height: number): SavedFile {
  return { path: "/out/1.png", url: "", mediaType: "image/png", bytes: 1, sha256: "", width, height };
}

function warningsOf(request: Partial<GenerationRequest>, ...files: SavedFile[]): string[] {
  return mismatchWarnings({ request: { prompt: "a fox", model: "z-image", ...request }, files });
}

describe("a warning that what came is not what was asked for", () => {
  it.each([
    ["1:1", 1024, 1024],
    ["16:9", 1344, 768],
    ["16:9", 1920, 1088],
    ["21:9", 1536, 640],
    ["3:2", 1248, 832],
    ["auto", 100, 900],
    ["strange", 100, 900],
    [undefined, 100, 900],
  ])("is not given for a ratio of %s at %i × %i", (ratio, width, height) => {
    expect(warningsOf(ratio === undefined ? {} : { ratio }, image(width, height))).toEqual([]);
  });

  it.each([
    ["1:1", 1024, 768],
    ["16:9", 768, 1344],
    ["4:3", 1248, 832],
    ["2:3", 832, 1024],
  ])("is given for a ratio of %s at %i × %i, with both", (ratio, width, height) => {
    const [warning = "", ...more] = warningsOf({ ratio }, image(width, height));
    expect(more).toEqual([]);
    expect(warning).toContain(ratio);
    expect(warning).toContain(`${width}×${height}`);
  });

  it("is given for each image of another shape", () => {
    const files = [image(10, 10), image(20, 10), image(30, 10)];
    expect(warningsOf({ ratio: "1:1" }, ...files)).toHaveLength(2);
  });

  it.each([
    [4, 3],
    [1, 2],
  ])("is given where %i images were asked for and %i came", (maxImages, came) => {
    const files = Array.from({ length: came }, () => image(10, 10));
    expect(warningsOf({ maxImages }, ...files)).toEqual([
      `requested ${maxImages} ${maxImages === 1 ? "image" : "images"}, received ${came}.`,
    ]);
    expect(warningsOf({ maxImages: came }, ...files)).toEqual([]);
  });

  it("is not given where nothing came, or the request is not known", () => {
    expect(warningsOf({ ratio: "1:1", maxImages: 4 })).toEqual([]);
    expect(mismatchWarnings({ request: null, files: [image(1, 9)] })).toEqual([]);
  });
});

it("a row that was cancelled before it was sent has failed, and --retry-failed submits it again", () => {
  const record = recordOf([{ ...LINES.not_sent, why: CANCELLED }], WORK);
  const { error, state } = rowResult({} as PlannedRow, taskReport(record), true);
  expect(state).toBe("failed");
  expect(String(error?.hint)).toMatch(/^Nothing was charged. To submit the row again, use --retry-failed/);
});
