import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { eventLine } from "../../../src/cli/commands/serve.ts";
import { InterruptedError } from "../../../src/core/errors.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { ServeEvent } from "../../../src/serve/start.ts";
import { begunTask } from "../../../src/task/record.ts";
import { clientOf } from "../../sandbox/live.ts";
import { commandWorld } from "../../support/command-world.ts";
import { png } from "../../support/images.ts";
import { runCommand } from "../../support/in-process.ts";
import { identity } from "../../support/some-processes.ts";

/** A folder with a generator that copies a picture after so many seconds, and what its spec is. */
async function copyingGenerator(folder: string, seconds = 0): Promise<string> {
  const picture = path.join(folder, "picture.png");
  const script = path.join(folder, "paint");
  await writeFile(picture, png());
  await writeFile(script, `#!/bin/sh\n: > '${begunIn(folder)}'\nsleep ${seconds}\ncp '${picture}' "$1"\n`, {
    mode: 0o755,
  });
  return `command:${script} {output} {promptFile} {model}`;
}

/** A file that is there once the generator works. */
function begunIn(folder: string): string {
  return path.join(folder, "begun");
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
  await expect.poll(() => said).toContain("\n");
  const { baseUrl, apiKey } = JSON.parse(said);
  const end = async () => {
    stop.abort(new InterruptedError("SIGTERM"));
    return run;
  };
  const hasBegun = () => existsSync(begunIn(world.cwd));
  return { ...clientOf(baseUrl, apiKey), end, hasBegun };
}

it("serves the generator until it is stopped, finishes what runs, and says a line for each task", async () => {
  const { accepted, end, hasBegun } = await serving(1, ["--generator-concurrency", "1"]);
  const running = await accepted({ prompt: "a fox", model: "sdxl" });
  // Its state says so a moment earlier, and what a signal finds before the program has begun is not sent.
  await expect.poll(hasBegun).toBe(true);
  await accepted({ prompt: "a hare" });
  const { code, stderr } = await end();
  expect(code).toBe(143);
  expect(stderr).toContain("1 task runs, and may take up to 30s more. A second signal ends at once.");
  expect(stderr).toMatch(
    new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${running} completed, sdxl, 8x6, \\d(\\.\\d)? s, 1 waiting$`, "m"),
  );
  expect(stderr.match(/ completed, /g)).toHaveLength(1);
});

it("gives up what still runs after its grace, and leaves it queued where it is free", async () => {
  const { accepted, poll, end } = await serving(30, ["--grace", "200ms"]);
  const running = await accepted({ prompt: "a fox" });
  await expect
    .poll(async () => (await poll(running)).body.data?.status, { timeout: 10_000 })
    .toBe("processing");
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

const WORK = {
  taskId: "task_1",
  isPaid: false,
  requests: 1,
  requestMs: 60_000,
  options: { model: "sdxl", width: 8, height: 8, sizeForm: null, fields: {} },
};

/** A task for a model. */
function taskFor(model: string | null) {
  return begunTask("20260101T000000000-01234567", {
    type: "intent",
    v: 1,
    at: "2026-01-01T00:00:00.000Z",
    owner: identity(1),
    request: { prompt: "a fox", model: model ?? "default" },
    service: { baseUrl: "command:paint", keyId: "k" },
    credits: 0,
    destination: { kind: "file", path: "/x", overwrite: false },
    work: { ...WORK, options: { ...WORK.options, model } },
  });
}

const FILE = {
  path: "/x.png",
  url: null,
  mediaType: "image/png",
  bytes: 1,
  sha256: "",
  width: 8,
  height: 6,
};
const ENDED = { kind: "ended", record: taskFor("sdxl"), ms: 8100, waiting: 3 } as const;
const MADE = { name: "completed", files: [FILE], usage: null, remarks: [] } as const;

it.each<[ServeEvent, string]>([
  [
    { ...ENDED, end: { ...MADE, files: [FILE], missing: [], remarks: [] } },
    "task_1 [saved]completed[/], sdxl, 8x6, 8.1 s, 3 waiting",
  ],
  [
    { ...ENDED, end: { ...MADE, files: [FILE], missing: ["Image 2: too red."], remarks: [] } },
    "task_1 [error]completed[/] in part, sdxl, 8x6, 8.1 s, 3 waiting: Image 2: too red.",
  ],
  [
    { ...ENDED, record: taskFor(null), end: { name: "failed", outcome: "refused", detail: "Too red." } },
    "task_1 [error]failed[/], 8.1 s, 3 waiting: Too red.",
  ],
  [
    { ...ENDED, end: { name: "failed", outcome: "unknown", detail: "HTTP 524." } },
    "task_1 [error]outcome unknown[/], sdxl, 8.1 s, 3 waiting: HTTP 524. To dismiss it: imggen resume task_1 --dismiss",
  ],
  [{ kind: "paused", detail: "Set a key." }, "[warning]waiting[/]: Set a key."],
  [
    { kind: "dropped", taskId: "task_1", why: "the disk is full" },
    "task_1 [warning]left as it is[/]: the disk is full",
  ],
])("the line of %j is what happened", (event, expected) => {
  const { before, end, meaning, after } = eventLine(event);
  expect(`${before}[${meaning}]${end}[/]${after}`).toBe(expected);
});
