import path from "node:path";
import { expect, it } from "vitest";
import { eventLine } from "../../../src/cli/commands/serve.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";
import type { ServeEvent } from "../../../src/serve/start.ts";
import { taskFromIntent } from "../../../src/task/task.ts";
import { clientOf } from "../../sandbox/live.ts";
import { dataOf } from "../../serve/serve-world.ts";
import { generatorWorld, makesImage } from "../../support/generator-world.ts";
import type { RunResult } from "../../support/in-process.ts";
import type { Behaviour } from "../../support/scripted-server.ts";
import { silence } from "../../support/scripts.ts";

/** `imggen serve`, once it serves, and what stops it. */
async function serving(generate: Behaviour, flags: readonly string[] = [], onStderr = (_text: string) => {}) {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const world = await generatorWorld((...request) => {
    begin();
    return generate(...request);
  });
  const stop = new AbortController();
  let run: Promise<RunResult> | undefined;
  const said = await new Promise<string>((onStdout) => {
    const options = { clock: systemClock, signal: stop.signal, onStdout, onStderr };
    run = world.run(["serve", "--json", ...flags], options);
  });
  const { baseUrl, apiKey } = JSON.parse(said);
  const end = async () => {
    stop.abort(new InterruptedError("SIGTERM"));
    return run;
  };
  const account = { IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: apiKey, IMGGEN_GENERATOR: undefined };
  return { ...clientOf(baseUrl, apiKey), ...world, account, begun, end };
}

it("serves the generator until it is stopped, finishes what runs, and says a line for each task", async () => {
  let reply = () => {};
  const isTold = new Promise<void>((resolve) => (reply = resolve));
  const generate: Behaviour = (...request) => isTold.then(() => makesImage(...request));
  const onStderr = (text: string) => text.includes("A second signal stops the server at once.") && reply();
  const { accepted, begun, end } = await serving(generate, ["--generator-concurrency", "1"], onStderr);
  const running = await accepted({ prompt: "a fox", model: "flux" });
  await begun;
  await accepted({ prompt: "a hare" });
  const { code, stderr = "" } = (await end()) ?? {};
  expect(code).toBe(143);
  expect(stderr).toContain("Waiting up to 30 s for 1 task. A second signal stops the server at once.");
  expect(stderr).toMatch(
    new RegExp(
      `^\\d\\d:\\d\\d:\\d\\d ${running} completed, flux, 8x6, [\\d.]+ m?s \\(waited [\\d.]+ m?s\\), 1 waiting$`,
      "m",
    ),
  );
  expect(stderr.match(/ completed, /g)).toHaveLength(1);
});

it("leaves a request of the same home to be saved where it was to go, by the id of both", async () => {
  const { json, account, poll, end, cwd } = await serving(makesImage);
  const wanted = ["generate", "a fox", "-m", "flux", "--no-validate", "--no-wait", "-o", "fox.png"];
  const { document } = await json(wanted, { env: account });
  await expect.poll(async () => dataOf(await poll(String(document.taskId))).status).toBe("completed");
  const resumed = await json(["resume", String(document.taskId)], { env: account });
  expect(resumed).toMatchObject({
    code: 0,
    document: { ok: true, files: [{ path: path.join(cwd, "fox.png") }] },
  });
  expect((await json(["history", "--unfinished"])).document).toEqual([]);
  await end();
});

it("gives up what still runs after its grace, and leaves it queued where it is free", async () => {
  const { accepted, begun, end } = await serving(silence, ["--grace", "200ms"]);
  await accepted({ prompt: "a fox" });
  await begun;
  const before = performance.now();
  const { code, stderr } = (await end()) ?? {};
  expect(performance.now() - before).toBeLessThan(20_000);
  expect(code).toBe(143);
  expect(stderr).not.toMatch(/completed|failed|unknown/);
});

it("logs requests with --verbose, and no key", async () => {
  const { accepted, end } = await serving(makesImage, ["--verbose"]);
  const taskId = await accepted({ prompt: "a fox" });
  expect((await end())?.stderr).toContain(` POST /api/generate-image 200 ${taskId} flux\n`);
});

const WORK = {
  taskId: "task_1",
  isPaid: false,
  requests: 1,
  requestMs: 60_000,
  queue: true,
  keepsUnsent: true,
  options: { model: "sdxl", width: 8, height: 8, sizeForm: null, fields: {} },
};

/** A task for a model. */
function taskFor(model: string | null) {
  return taskFromIntent("20260101T000000000-01234567", {
    type: "intent",
    v: 2,
    at: "2026-01-01T00:00:00.000Z",
    holder: "0123456789abcdef",
    request: { prompt: "a fox", model: model ?? "default" },
    service: { baseUrl: "command:paint", keyId: "k" },
    credits: 0,
    destination: { kind: "file", path: "/x", overwrite: false },
    ...WORK,
    options: { ...WORK.options, model },
  });
}

const FILE = { path: "/x.png", url: null, mediaType: "image/png", bytes: 1, sha256: "", width: 8, height: 6 };
const ENDED = {
  kind: "ended",
  taskId: "task_1",
  task: taskFor("sdxl"),
  ms: 8100,
  waitedMs: 5000,
  waiting: 3,
} as const;
const MADE = { name: "completed", files: [FILE], usage: null, remarks: [] } as const;

it.each<[ServeEvent, string]>([
  [
    { ...ENDED, end: { ...MADE, files: [FILE], missing: [], remarks: [] } },
    "task_1 [saved]completed[/], sdxl, 8x6, 8.1 s (waited 5 s), 3 waiting",
  ],
  [
    { ...ENDED, end: { ...MADE, files: [FILE], missing: ["Image 2: too red."], remarks: [] } },
    "task_1 [error]completed[/] in part, sdxl, 8x6, 8.1 s (waited 5 s), 3 waiting: Image 2: too red.",
  ],
  [
    { ...ENDED, task: taskFor(null), end: { name: "failed", outcome: "refused", detail: "Too red." } },
    "task_1 [error]failed[/], 8.1 s (waited 5 s), 3 waiting: Too red.",
  ],
  [
    { ...ENDED, end: { name: "failed", outcome: "unknown", detail: "HTTP 524." } },
    "task_1 [error]outcome unknown[/], sdxl, 8.1 s (waited 5 s), 3 waiting: HTTP 524. To dismiss it: imggen resume task_1 --dismiss",
  ],
  [{ kind: "paused", detail: "Set a key." }, "[warning]waiting[/]: Set a key."],
  [
    { kind: "dropped", taskId: "task_1", why: "the disk is full" },
    "task_1 [warning]not continued[/]: the disk is full",
  ],
])("the line of %j is what happened", (event, expected) => {
  const { subject, result, style, details } = eventLine(event);
  expect(`${subject}[${style}]${result}[/]${details}`).toBe(expected);
});
