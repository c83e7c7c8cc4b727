import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { exportCommands, requestLine } from "../../../src/cli/commands/serving.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import { commandWorld } from "../../support/command-world.ts";
import { runCommand } from "../../support/in-process.ts";
import { deadPort } from "../../support/live-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("a first image of the embedded sandbox is polled for once, when it is ready", async () => {
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      waits.push(ms);
      return systemClock.sleep(ms, signal);
    },
  };
  const args = ["generate", "a fox", "-m", "z-image", "-r", "1:1", "--sandbox", "--verbose"];
  const { code, stderr } = await runCommand(args, { home: await temporaryFolder(), clock });
  expect(code).toBe(0);
  expect(stderr.match(/^GET .*generate-image/gm)).toHaveLength(1);
  expect(waits).toHaveLength(1);
  expect(waits[0]).toBeLessThanOrEqual(300);
});

it.each([
  ["generate", "a fox", "--sandbox"],
  ["batch", "rows.txt", "--sandbox", "--output", "out"],
  ["sandbox"],
])("%s reports a state folder that cannot be used, and that nothing was charged", async (...args) => {
  const world = await commandWorld();
  await writeFile(path.join(world.cwd, "rows.txt"), "a fox\n");
  const { code, document, stderr } = await world.json(args, { env: { IMGGEN_HOME: "/dev/null/none" } });
  expect(code, stderr).toBe(8);
  expect(JSON.stringify(document)).toContain("The state folder /dev/null/none");
});

it.each([
  [200, false, "cost 2", "[saved]200[/] cost 2"],
  [200, false, null, "[saved]200[/]"],
  [200, true, "login_required", "[warning]200[/] login_required"],
  [500, true, null, "[error]500[/]"],
  [0, false, "cut", "[error]-[/] cut"],
])("the log of a reply %d (refused: %s) with the note %s ends in %s", (status, isRefused, note, expected) => {
  const line = requestLine({ method: "GET", path: "/api/generate-image", status, isRefused, note });
  const { subject, result, style, details } = line;
  expect(`${subject}[${style}]${result}[/]${details}`).toBe(`GET /api/generate-image ${expected}`);
});

it("sandbox says that its port is in use, and what to do", async () => {
  const world = await commandWorld();
  const { port } = new URL(world.server.baseUrl);
  const { code, document } = await world.json(["sandbox", "--port", port]);
  expect([code, document.error]).toMatchObject([
    2,
    { type: "usage", message: `Port ${port} is in use.`, hint: expect.stringContaining("--port") },
  ]);
});

it.each([
  [
    "linux",
    "/bin/zsh",
    ["export IMGGEN_BASE_URL=http://127.0.0.1:8787/api", "export IMGGEN_API_KEY=sk-sandbox"],
  ],
  [
    "linux",
    "/usr/bin/fish",
    ["set -gx IMGGEN_BASE_URL http://127.0.0.1:8787/api", "set -gx IMGGEN_API_KEY sk-sandbox"],
  ],
  [
    "win32",
    undefined,
    ['$env:IMGGEN_BASE_URL = "http://127.0.0.1:8787/api"', '$env:IMGGEN_API_KEY = "sk-sandbox"'],
  ],
] as const)("sandbox on %s in %s prints two lines to paste", (onPlatform, SHELL, lines) => {
  const settings = { IMGGEN_BASE_URL: "http://127.0.0.1:8787/api", IMGGEN_API_KEY: "sk-sandbox" };
  expect(exportCommands(settings, { SHELL }, onPlatform)).toEqual(lines);
});

it("sandbox's lines set up a shell, and its log shows time, task, model, prompt and credits left", async () => {
  const world = await commandWorld();
  const stop = new AbortController();
  const port = await deadPort();
  const baseUrl = `http://127.0.0.1:${port}/api`;
  const onStderr = async (text: string) => {
    if (!text.includes("Serving until Ctrl-C")) return;
    const env = { IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: "sk-sandbox" };
    const args = ["generate", "a red fox", "-m", "gamma-image-2", "-q", "1K"];
    expect((await world.run(args, { env })).code).toBe(0);
    stop.abort(new InterruptedError("SIGINT"));
  };
  const options = { signal: stop.signal, env: { SHELL: "/bin/sh" }, onStderr };
  const { stdout, stderr } = await world.run(["sandbox", "--port", String(port)], options);
  expect(stdout).toBe(`export IMGGEN_BASE_URL=${baseUrl}\nexport IMGGEN_API_KEY=sk-sandbox\n`);
  expect(stderr).toMatch(
    /^\d\d:\d\d:\d\d POST \/api\/generate-image 200 task_\w+ gamma-image-2 "a red fox", cost 2, 998 left$/m,
  );
});

it("the embedded sandbox warns once of a directive that it does not know, not of one that it knows", async () => {
  const world = await commandWorld();
  await writeFile(path.join(world.cwd, "foxes.txt"), "a red fox [sandbox:FAIL]\na fox [sandbox:FAIL]\n");
  const warning =
    "warning: The sandbox does not support [sandbox:FAIL], so it has no effect. See imggen sandbox --help.\n";
  const { code, stderr } = await world.run(["batch", "foxes.txt", "--sandbox"]);
  expect([code, stderr.split(warning).length]).toEqual([0, 2]);
  const known = await world.run(["generate", "a fox [sandbox:fail]", "--sandbox"]);
  expect([known.code, known.stderr]).toEqual([5, expect.not.stringContaining("does not know")]);
});
