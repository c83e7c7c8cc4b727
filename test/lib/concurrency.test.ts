import { describe, expect, it } from "vitest";
import { mapConcurrent, Slots } from "../../src/lib/concurrency.ts";
import { pause } from "../support/wait.ts";

describe("mapping with several calls at once", () => {
  it("keeps the order of the items, whichever ends first, and has as many in flight as its limit", async () => {
    let [underWay, most] = [0, 0];
    const results = await mapConcurrent([30, 1, 15, 2, 2], 3, async (ms, index) => {
      most = Math.max(most, ++underWay);
      await pause(ms);
      underWay--;
      return `${index}:${ms}`;
    });
    expect([results, most]).toEqual([["0:30", "1:1", "2:15", "3:2", "4:2"], 3]);
    expect(await mapConcurrent([], 4, async () => 1)).toEqual([]);
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

describe("slots", () => {
  it("let so many run at once, and the others in their order", async () => {
    const slots = new Slots(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = [1, 2, 3, 4].map((item) =>
      slots.run(() => {
        begun.push(item);
        return new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    expect(begun).toEqual([1, 2]);
    ends[1]?.();
    await pause(0);
    expect(begun).toEqual([1, 2, 3]);
    ends[0]?.();
    await pause(0);
    expect(begun).toEqual([1, 2, 3, 4]);
    for (const end of ends) end();
    await Promise.all(all);
  });

  it("are given back by work that fails", async () => {
    const slots = new Slots(1);
    await expect(slots.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await slots.run(async () => 7)).toBe(7);
  });
});
