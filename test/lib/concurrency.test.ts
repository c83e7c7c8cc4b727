import { describe, expect, it } from "vitest";
import { mapConcurrent } from "../../src/lib/concurrency.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("mapping with several calls at once", () => {
  it("keeps the order of the items, whichever ends first", async () => {
    const results = await mapConcurrent([30, 1, 15], 3, async (ms, index) => {
      await pause(ms);
      return `${index}:${ms}`;
    });
    expect(results).toEqual(["0:30", "1:1", "2:15"]);
  });

  it("never has more calls under way than its limit, and reaches it", async () => {
    let underWay = 0;
    let most = 0;
    await mapConcurrent([...Array(20).keys()], 4, async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await pause(2);
      underWay -= 1;
    });
    expect(most).toBe(4);
  });

  it("gives nothing for nothing", async () => {
    expect(await mapConcurrent([], 4, async () => 1)).toEqual([]);
  });

  it("ends with the first error", async () => {
    const failing = mapConcurrent([1, 2, 3], 2, async (item) => {
      await pause(item);
      if (item === 2) throw new Error(`item ${item}`);
    });
    await expect(failing).rejects.toThrow("item 2");
  });

  it("begins nothing more after an error", async () => {
    const begun: number[] = [];
    const failing = mapConcurrent([1, 2, 3, 4, 5, 6], 2, async (item) => {
      begun.push(item);
      await pause(5);
      if (item === 1) throw new Error("stop");
    });
    await expect(failing).rejects.toThrow("stop");
    await pause(30);
    expect(begun.length).toBeLessThanOrEqual(3);
  });
});
