import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { isoTime, systemClock } from "../../src/lib/clock.ts";

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

  it("does not begin to sleep under a signal that has come already", async () => {
    const reason = new Error("stop");
    for (const ms of [0, 10, 60_000])
      await expect(systemClock.sleep(ms, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it("does not take a time that is too long for a timer for no time at all", async () => {
    for (const ms of [2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY]) {
      const controller = new AbortController();
      const timeReads = vi.spyOn(performance, "now");
      const sleeping = systemClock.sleep(ms, controller.signal).then(() => "slept");
      const awake = new Promise((resolve) => setTimeout(resolve, 20, "still asleep"));
      expect(await Promise.race([sleeping, awake])).toBe("still asleep");
      expect(timeReads).toHaveBeenCalledTimes(1);
      timeReads.mockRestore();
      controller.abort(new Error("stop"));
      await expect(sleeping).rejects.toThrow("stop");
    }
  });

  it("sets one timer for a sleep, not another for the last bit of it", async () => {
    const look = vi.spyOn(performance, "now");
    for (let each = 0; each < 20; each++) await systemClock.sleep(3.7);
    // Once as it begins, and once after each timer.
    const timers = look.mock.calls.length - 20;
    look.mockRestore();
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
