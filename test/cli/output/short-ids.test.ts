import { describe, expect, it } from "vitest";
import { shortIds } from "../../../src/cli/output/short-ids.ts";

describe("a short id", () => {
  it("has 13 characters, or as many as tell it from the others", () => {
    expect(shortIds([])).toEqual([]);
    expect(shortIds(["task_3f9c1a2b77", "task_81ab77ff01"])).toEqual(["task_3f9c1a2b", "task_81ab77ff"]);
    expect(shortIds(["short", "short"])).toEqual(["short", "short"]);
    expect(shortIds(["a".repeat(20), `${"a".repeat(15)}b`])).toEqual(["a".repeat(16), `${"a".repeat(15)}b`]);
  });

  it("of the ledger has the whole time: most of a minute's tasks begin with the same 13 characters", () => {
    const id = "20261122T160253251-5af17b71";
    expect(shortIds([id], ["20261122T160251007-11aa22bb"])).toEqual(["20261122T160253251"]);
    expect(shortIds([id], ["20261122T160253251-5a000000"])).toEqual(["20261122T160253251-5af"]);
  });
});
