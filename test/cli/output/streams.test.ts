import { describe, expect, it } from "vitest";
import { commandWorld, TEST_KEY } from "../../support/command-world.ts";
import { failure } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning } from "../../support/scripts.ts";

const ESCAPE = "\u001b[";
const QUICK = ["--poll-interval", "100ms"];

describe("the streams", () => {
  it("standard output carries the result alone, and off a terminal standard error a few plain lines", async () => {
    const world = await commandWorld({ poll: inTurn(...Array(5).fill(stillRunning), completedAt("/1.png")) });
    const { stdout, stderr } = await world.run(["generate", "a fox", ...QUICK]);
    expect(stdout).toBe(`${world.cwd}/a-fox-task1.png\n`);
    expect(stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(4);
    expect(stderr).not.toContain("\u001b");
  });

  it("-o - writes one image and no path after it: a second one that the service made is named on standard error", async () => {
    const world = await commandWorld({ poll: completedAt("/1.png", "/2.png") });
    const { code, stdout, stderr } = await world.run(["generate", "a fox", "-o", "-", ...QUICK]);
    expect([code, stdout.endsWith("IEND\u{fffd}B`\u{fffd}")]).toEqual([0, true]);
    expect(stderr).toContain(`Another image was saved as ${world.cwd}/a-fox-task1-2.png`);
  });

  it("--quiet leaves standard error to errors alone", async () => {
    const world = await commandWorld();
    const args = ["-m", "gamma-image-2", "--quiet"];
    expect(await world.run(["generate", "a fox", ...args])).toEqual({
      code: 0,
      stdout: `${world.cwd}/a-fox-task1.png\n`,
      stderr: "",
    });
    for (const command of [["config", "set", "model", "z-image"], ["logout"], ["history"], ["resume"]]) {
      expect((await world.run([...command, "--quiet"])).stderr).toBe("");
    }
    const failing = await commandWorld({ submit: replies(failure("login_required")) });
    const { code, stderr } = await failing.run(["generate", "a fox", "--quiet"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("error:")]);
  });

  it("--quiet wins over --verbose", async () => {
    const world = await commandWorld();
    const { stderr } = await world.run(["generate", "a fox", "--quiet", "--verbose", ...QUICK]);
    expect(stderr).toBe("");
  });

  it("--verbose shows every request, with no key and no query", async () => {
    const world = await commandWorld({ poll: inTurn(stillRunning, completedAt("/1.png?signature=s3cret")) });
    const { stdout, stderr } = await world.run(["generate", "a fox", "--verbose", ...QUICK]);
    expect(stderr.match(/^(POST|GET) http/gm)).toHaveLength(4);
    expect(stdout + stderr).not.toContain(TEST_KEY);
    expect(stdout + stderr).not.toMatch(/s3cret|taskId=|Bearer/);
  });
});

describe("colours", () => {
  const errorOn = async (terminal: boolean, env: Record<string, string>, ...flags: string[]) => {
    const world = await commandWorld();
    return (await world.run(["generate", "", ...flags], { terminal, env })).stderr;
  };

  it("are for terminals", async () => {
    expect(await errorOn(true, {})).toContain(ESCAPE);
    expect(await errorOn(false, {})).not.toContain(ESCAPE);
  });

  it("are off with NO_COLOR, TERM=dumb or --no-color", async () => {
    expect(await errorOn(true, { NO_COLOR: "1" })).not.toContain(ESCAPE);
    expect(await errorOn(true, { TERM: "dumb" })).not.toContain(ESCAPE);
    expect(await errorOn(true, {}, "--no-color")).not.toContain(ESCAPE);
  });

  it("are on anywhere with FORCE_COLOR, and off with FORCE_COLOR=0", async () => {
    expect(await errorOn(false, { FORCE_COLOR: "1" })).toContain(ESCAPE);
    expect(await errorOn(true, { FORCE_COLOR: "0" })).not.toContain(ESCAPE);
    expect(await errorOn(false, { FORCE_COLOR: "1" }, "--no-color")).not.toContain(ESCAPE);
  });

  it("mark the headings of tables, and never touch JSON", async () => {
    const world = await commandWorld();
    expect((await world.run(["models"], { terminal: true })).stdout).toContain(ESCAPE);
    const json = await world.run(["models", "--json"], { terminal: true, env: { FORCE_COLOR: "1" } });
    expect(json.stdout).not.toContain("\u001b");
    const refused = await world.run(["generate", "", "--json"], {
      terminal: true,
      env: { FORCE_COLOR: "1" },
    });
    expect(refused.stdout).not.toContain("\u001b");
  });
});
