import { describe, expect, it } from "vitest";
import { coalescingClock } from "../../src/lib/coalescing-clock.ts";
import { steppedClock } from "../support/fake-clock.ts";

/** The waits that are asked of the clock behind, milliseconds, for these sleeps begun one after the other. */
function waitsFor(...sleepsMs: number[]): readonly number[] {
  const behind = steppedClock();
  const clock = coalescingClock(behind);
  for (const ms of sleepsMs) void clock.sleep(ms);
  return behind.waits;
}

describe("sleeps of a coalescing clock", () => {
  it("end with another one that ends up to 50 ms later", () => {
    expect(waitsFor(1000, 950, 960)).toEqual([1000, 1000, 1000]);
  });

  it("end with the first of several", () => {
    expect(waitsFor(1040, 1020, 1000)).toEqual([1040, 1040, 1040]);
    expect(waitsFor(1000, 1060, 990)).toEqual([1000, 1060, 1000]);
  });

  it("do not wait for one that ends later than that", () => {
    expect(waitsFor(1000, 949)).toEqual([1000, 949]);
  });

  it("never end sooner than asked", () => {
    expect(waitsFor(1000, 1001)).toEqual([1000, 1001]);
  });

  it("last at most a third longer", () => {
    expect(waitsFor(140, 110, 100)).toEqual([140, 140, 100]);
  });

  it("of no length end at once", () => {
    expect(waitsFor(0, 0)).toEqual([0, 0]);
    expect(waitsFor(20, 0)).toEqual([20, 0]);
  });

  it("end with others only at moments that are still to come", () => {
    const behind = steppedClock();
    const clock = coalescingClock(behind);
    void clock.sleep(1000);
    behind.advance(980);
    void clock.sleep(18);
    behind.advance(40);
    void clock.sleep(10);
    expect(behind.waits).toEqual([1000, 20, 10]);
  });

  it("use the clock behind, and stop with their own signals", async () => {
    const behind = steppedClock();
    const clock = coalescingClock(behind);
    behind.advance(77);
    expect([clock.monotonicMs(), clock.now()]).toEqual([77, behind.now()]);
    const stopped = new AbortController();
    const one = clock.sleep(1000, stopped.signal);
    const other = clock.sleep(990).then(() => "woken");
    stopped.abort(new Error("stop"));
    await expect(one).rejects.toThrow("stop");
    behind.advance(1000);
    expect(await other).toBe("woken");
  });
});
