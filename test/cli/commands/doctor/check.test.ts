import { describe, expect, it } from "vitest";
import { runCheck } from "../../../../src/cli/commands/doctor/doctor.ts";
import { Session } from "../../../../src/cli/session/session.ts";
import { Console } from "../../../../src/cli/text/console.ts";
import { ok, orNotChecked } from "../../../../src/client/finding.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { UsageError } from "../../../../src/lib/error-types.ts";
import { testContext } from "../../../support/in-process.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

async function made(run: Parameters<typeof runCheck>[0]["run"]) {
  // Seconds last milliseconds.
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
  };
  const context = testContext({ home: await temporaryFolder(), clock });
  const session = new Session(context, new Console(context, { quiet: false, color: false }), {}, []);
  return runCheck({ name: "test", run }, session, new Promise(() => {}));
}

describe("a check", () => {
  it("that never ends is a warning after some seconds", async () => {
    expect(await made(() => new Promise(() => {}))).toMatchObject({ level: "warning" });
  });

  it("that finds an error of imggen's own has failed with its next step", async () => {
    const result = await made(() => {
      throw new UsageError("It is wrong.", { hint: "Do it right." });
    });
    expect(result).toMatchObject({ level: "failed", message: "It is wrong.", hint: "Do it right." });
  });

  it("that the disk refuses has failed in the words of the disk", async () => {
    const error = Object.assign(new Error("EIO: i/o error, stat"), { code: "EIO" });
    expect(await made(() => Promise.reject(error))).toMatchObject({
      level: "failed",
      message: "The check failed: the disk reports an error (EIO).",
    });
  });

  it("that cannot be made for what another reports is skipped, as is one with nothing to check", async () => {
    const wrong = () => Promise.reject(new UsageError("There is no service."));
    const result = await made(() => orNotChecked<never>(wrong));
    expect(result).toMatchObject({ level: "skipped", message: "There is no service.", hint: null });
    expect(await made(() => null)).toMatchObject({ level: "skipped", facts: {} });
  });

  it("that has a bug says so, as every command does", async () => {
    await expect(made(() => Promise.reject(new TypeError("x is undefined")))).rejects.toThrow(TypeError);
    expect(await made(() => ok("fine", {}))).toMatchObject({ level: "ok" });
  });
});
