import path from "node:path";
import { expect, it } from "vitest";
import { NO_ACCOUNT } from "../support/command-world.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { BIN, finished } from "../support/program.ts";
import { programWorld, SAVED } from "../support/program-world.ts";
import { success } from "../support/scripted-server.ts";
import { replies } from "../support/scripts.ts";
import { QUICK } from "../support/shell.ts";
import { hasTool } from "../support/tools.ts";
import { pause } from "../support/wait.ts";

// Faults of Windows, played to the built program on whatever system this is: see as-windows.cjs.

const AS_WINDOWS = path.resolve(import.meta.dirname, "../support/as-windows.cjs");

async function windowsWorld(
  env: Record<string, string> = {},
  script: Parameters<typeof liveService>[1] = {},
) {
  const server = await liveService(PICTURE, script);
  return { server, world: await programWorld(server, { NODE_OPTIONS: `--require ${AS_WINDOWS}`, ...env }) };
}

it.each(["what?.png", "NUL.png", "a:b.png"])(
  "-o %j, which is no valid file name on Windows, is refused there before anything is sent",
  async (name) => {
    const { world } = await windowsWorld();
    const run = await world.generate(["--output", name]);
    expect(await world.aftermath(run)).toMatchObject({ exit: 2, charged: "no", files: [], submits: 0 });
    expect(JSON.parse(run.stdout).error.message).toContain("Windows");
    expect(await world.ledger()).toEqual({ open: [], done: [] });
  },
);

it.each([[[]], [["--overwrite"]]])(
  "a file that another program has open for a moment on Windows is still renamed and removed: %j",
  async (flags) => {
    const { world } = await windowsWorld({ IMGGEN_TEST_IN_USE: "3" });
    const run = await world.generate(flags);
    expect(await world.aftermath(run)).toEqual(SAVED);
    expect(JSON.parse(run.stdout).warnings).toEqual([]);
  },
);

it.each([[["--json"]], [[]]])(
  "a closed pipe on standard output that answers EOF, as on Windows, loses no image: %j",
  async (json) => {
    const { world } = await windowsWorld({ IMGGEN_TEST_EOF: "1" });
    const run = await world.run(["generate", "a fox", ...QUICK, ...json, "-o", `${world.out}/`]);
    expect(run.stderr).not.toMatch(/EOF|Error:|at .*:\d+/);
    expect(await world.aftermath(run)).toEqual({ ...SAVED, charged: null });
  },
);

it("Ctrl-C at the question for the key ends login with exit 130, even where a process has no signals", async (test) => {
  if (!hasTool("script")) return test.skip("script is not installed");
  const { server, world } = await windowsWorld();
  const command = `"${process.execPath}" "${BIN}" login --base-url ${server.origin}/api`;
  const program = world.start([], {
    env: NO_ACCOUNT,
    through: ["sh", "-c", 'exec script -qec "$0" /dev/null', command],
  });
  program.stdout?.once("data", () => pause(300).then(() => program.stdin?.write("\x03")));
  const run = await finished(program);
  expect(run.code).toBe(130);
  expect(server.requests).toEqual([]);
});

it("commands in hints are quoted for the shells of Windows", async () => {
  const { world } = await windowsWorld({}, { submit: replies(success({ taskId: "a b's $(calc)" })) });
  const run = await world.run(["generate", "a fox", "--no-wait"]);
  expect(run.stderr).toContain('imggen resume "a b\'s `$(calc)"');
});
