import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { eventLine } from "../../../src/cli/commands/serve.ts";
import { InterruptedError } from "../../../src/core/errors.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ServiceEvent } from "../../../src/sandbox/generator-service.ts";
import { clientOf } from "../../sandbox/live.ts";
import { commandWorld } from "../../support/command-world.ts";
import { png } from "../../support/images.ts";
import { runCommand } from "../../support/in-process.ts";

/** A folder with a generator that copies a picture after so many seconds, and what its spec is. */
async function copyingGenerator(folder: string, seconds = 0): Promise<string> {
  const picture = path.join(folder, "picture.png");
  const script = path.join(folder, "paint");
  await writeFile(picture, png());
  await writeFile(script, `#!/bin/sh\nsleep ${seconds}\ncp '${picture}' "$1"\n`, { mode: 0o755 });
  return `command:${script} {output} {promptFile}`;
}

/** `imggen serve`, once it serves, and what stops it. */
async function serving(seconds: number, flags: readonly string[] = []) {
  const world = await commandWorld();
  const generator = await copyingGenerator(world.cwd, seconds);
  const stop = new AbortController();
  let said = "";
  const run = runCommand(["serve", "--generator", generator, "--json", ...flags], {
    home: world.home,
    clock: systemClock,
    signal: stop.signal,
    onStdout: (text: string) => {
      said += text;
    },
  });
  await expect.poll(() => said, { timeout: 10_000 }).toContain("\n");
  const { baseUrl, apiKey } = JSON.parse(said);
  const end = async () => {
    stop.abort(new InterruptedError("SIGTERM"));
    return run;
  };
  return { ...clientOf(baseUrl, apiKey), end };
}

it("serves the generator until it is stopped, finishes what runs, and says a line for each task", async () => {
  const { accepted, poll, end } = await serving(1, ["--generator-concurrency", "1"]);
  const running = await accepted({ prompt: "a fox", model: "sdxl" });
  await expect.poll(async () => (await poll(running)).body.data?.status).toBe("processing");
  await accepted({ prompt: "a hare" });
  const { code, stderr } = await end();
  expect(code).toBe(143);
  expect(stderr).toContain("1 task runs, and may take up to 30s more. A second signal ends at once.");
  expect(stderr).toMatch(
    new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${running} completed, sdxl, 8x6, 1(\\.\\d)? s, 1 waiting$`, "m"),
  );
  expect(stderr.match(/ completed, /g)).toHaveLength(1);
});

it("gives up what still runs after its grace, and leaves it queued where it is free", async () => {
  const { accepted, poll, end } = await serving(30, ["--grace", "200ms"]);
  const running = await accepted({ prompt: "a fox" });
  await expect.poll(async () => (await poll(running)).body.data?.status).toBe("processing");
  const before = performance.now();
  const { code, stderr } = await end();
  expect(performance.now() - before).toBeLessThan(5_000);
  expect(code).toBe(143);
  expect(stderr).not.toMatch(/completed|failed|unknown/);
});

it("logs requests with --verbose, and no key", async () => {
  const { accepted, end } = await serving(0, ["--verbose"]);
  const taskId = await accepted({ prompt: "a fox" });
  expect((await end()).stderr).toContain(` POST /api/generate-image 200 ${taskId}\n`);
});

it("without a generator says how to name one, and that --sandbox is another thing", async () => {
  const world = await commandWorld();
  const { code, document } = await world.json(["serve"]);
  expect([code, document.error]).toMatchObject([
    2,
    { type: "usage", message: "No generator is given.", hint: expect.stringContaining("--generator") },
  ]);
  expect((await world.json(["serve", "--sandbox"])).code).toBe(2);
});

it.each([
  ["--port", "65536"],
  ["--grace", "soon"],
])("%s %s is a usage error", async (flag, value) => {
  const world = await commandWorld();
  const generator = await copyingGenerator(world.cwd);
  const { code, document } = await world.json(["serve", "--generator", generator, flag, value]);
  expect([code, document.error]).toMatchObject([2, { type: "usage" }]);
});

const TASK = {
  taskId: "task_1",
  submittedAt: 0,
  model: "sdxl",
  prompt: "a fox",
  ratio: undefined,
  quality: undefined,
  width: 8,
  height: 8,
  references: [],
  fields: {},
  imageCount: 2,
  isPaid: false,
};
const IMAGE = {
  file: "1/x",
  type: "png",
  mediaType: "image/png",
  extension: "png",
  bytes: 1,
  usage: null,
} as const;
const ENDED = { kind: "ended", task: TASK, ms: 8100, waiting: 3 } as const;
const REFUSED = { outcome: "refused", detail: "Too red." } as const;

it.each<[ServiceEvent, string]>([
  [
    {
      ...ENDED,
      state: { name: "completed", steps: 4, failures: [], images: [{ ...IMAGE, width: 8, height: 6 }] },
    },
    "task_1 [saved]completed[/], sdxl, 8x6, 8.1 s, 3 waiting",
  ],
  [
    {
      ...ENDED,
      state: {
        name: "completed",
        steps: 4,
        failures: [REFUSED],
        images: [{ ...IMAGE, width: 8, height: 6 }],
      },
    },
    "task_1 [error]completed[/] in part, sdxl, 8x6, 8.1 s, 3 waiting: Too red.",
  ],
  [
    { ...ENDED, task: { ...TASK, model: null }, state: { name: "failed", steps: 2, failure: REFUSED } },
    "task_1 [error]failed[/], 8.1 s, 3 waiting: Too red.",
  ],
  [
    { ...ENDED, state: { name: "failed", steps: 2, failure: { outcome: "unknown", detail: "HTTP 524." } } },
    "task_1 [error]outcome unknown[/], sdxl, 8.1 s, 3 waiting: HTTP 524.",
  ],
  [{ kind: "paused", key: "login_required", detail: "Set a key." }, "[warning]waiting[/]: Set a key."],
  [
    { kind: "dropped", taskId: "task_1", why: "the disk is full" },
    "task_1 [warning]left to others[/]: the disk is full",
  ],
])("the line of %j is what happened", (event, expected) => {
  const { before, end, meaning, after } = eventLine(event);
  expect(`${before}[${meaning}]${end}[/]${after}`).toBe(expected);
});
