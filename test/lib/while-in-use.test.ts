import { describe, expect, it } from "vitest";
import { retryWhileInUse, retryWhileInUseSync } from "../../src/lib/durable.ts";

/** A rename that answers with this code so many times, then works. */
function failing(code: string, times: number) {
  let attempts = 0;
  const change = () => {
    attempts += 1;
    if (attempts <= times) throw Object.assign(new Error(code), { code });
    return attempts;
  };
  return { change, attempts: () => attempts };
}

const WAYS = [
  { way: "retryWhileInUse", run: retryWhileInUse<number> },
  {
    way: "retryWhileInUseSync",
    run: async (...args: Parameters<typeof retryWhileInUseSync<number>>) => retryWhileInUseSync(...args),
  },
];

describe.each(WAYS)("$way", ({ run }) => {
  it.each(["EPERM", "EBUSY", "EACCES"])("tries again on Windows after %s, until it works", async (code) => {
    expect(await run(failing(code, 3).change, "win32")).toBe(4);
  });

  it("gives up after the time given, with the last error", async () => {
    const { change, attempts } = failing("EBUSY", Number.POSITIVE_INFINITY);
    const start = performance.now();
    await expect(run(change, "win32", 300)).rejects.toMatchObject({ code: "EBUSY" });
    const tookMs = performance.now() - start;
    expect(tookMs).toBeGreaterThanOrEqual(290);
    // After 10, 20, 40, 80 ms, and what is left: fewer on a machine that is busy, one more where a timer fires early.
    expect(attempts()).toBeGreaterThan(1);
    expect(attempts()).toBeLessThan(12);
  });

  it.each(["ENOENT", "EEXIST", "ENOSPC"])("does not try again after %s", async (code) => {
    const { change, attempts } = failing(code, 1);
    await expect(run(change, "win32")).rejects.toMatchObject({ code });
    expect(attempts()).toBe(1);
  });

  it.each(["linux", "darwin"] as const)("does not try again on %s", async (platform) => {
    const { change, attempts } = failing("EPERM", 1);
    await expect(run(change, platform)).rejects.toMatchObject({ code: "EPERM" });
    expect(attempts()).toBe(1);
  });
});
