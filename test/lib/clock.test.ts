import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { coalescingClock, isoTime, systemClock } from "../../src/lib/clock.ts";
import { steppedClock } from "../support/fake-clock.ts";

describe("the system's clock", () => {
  it("sleeps no shorter than it was asked to", async () => {
    const start = systemClock.monotonicMs();
    await systemClock.sleep(30);
    expect(systemClock.monotonicMs() - start).toBeGreaterThanOrEqual(30);
  });

  it("wakes at once with the signal's reason", async () => {
    const controller = new AbortController();
    const reason = new Error("stop");
    const sleeping = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
  });

  it.each([0, 10, 60_000])(
    "does not begin to sleep %i ms under a signal that has come already",
    async (ms) => {
      const reason = new Error("stop");
      await expect(systemClock.sleep(ms, AbortSignal.abort(reason))).rejects.toBe(reason);
    },
  );

  it.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
    "does not take %d ms for no time at all",
    async (ms) => {
      const controller = new AbortController();
      const sleeping = systemClock.sleep(ms, controller.signal).then(() => "slept");
      const first = await Promise.race([
        sleeping,
        new Promise((resolve) => setTimeout(resolve, 20, "still asleep")),
      ]);
      controller.abort(new Error("stop"));
      await expect(sleeping).rejects.toThrow("stop");
      expect(first).toBe("still asleep");
    },
  );

  it("sets one timer for a sleep, not another for the last bit of it", async () => {
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    for (let each = 0; each < 20; each++) await systemClock.sleep(3.7);
    const timers = setTimer.mock.calls.length;
    setTimer.mockRestore();
    // A machine that is busy may be late in setting one.
    expect(timers).toBeLessThan(28);
  });

  it("leaves nothing hanging on a signal after its sleep", async () => {
    const { signal } = new AbortController();
    await systemClock.sleep(1, signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

it("writes a moment as ISO 8601 in UTC", () => {
  expect(isoTime(Date.UTC(2026, 1, 3, 4, 5, 6, 7))).toBe("2026-02-03T04:05:06.007Z");
});

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
