import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { PENDING, programWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import { response, success } from "../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset, stillRunning, taskIs } from "../support/scripts.ts";

const FAILED = {
  ...PENDING,
  exit: 5,
  type: "generation_failed",
  charged: "unknown",
  open: [],
  done: ["failed"],
};

it("status words that the document does not name are a task that still runs", async () => {
  const words = ["processing", "queued", "COMPLETED", "success", "", "error", null, 7, { nested: true }];
  const { server, world } = await serviceWorld({
    poll: inTurn(
      ...words.map((status) => taskIs({ status, errorCode: 0 })),
      taskIs({}),
      completedAt("/1.png"),
    ),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
  expect(server.requests).toHaveLength(1 + words.length + 2 + 1);
});

it("completed with a resultUrl that is missing is not done yet", async () => {
  const incomplete = taskIs({ status: "completed", errorCode: 0 });
  const { world } = await serviceWorld({ poll: inTurn(incomplete, incomplete, completedAt("/1.png")) });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it.each([
  ["failed with a resultUrl", { status: "failed", resultUrl: "http://127.0.0.1:9/1.png", errorCode: 0 }],
  ["an errorCode that is not 0 while it runs", { status: "processing", errorCode: 1001 }],
])("%s is a failed task: nothing is downloaded, nothing submitted again", async (_name, state) => {
  const { server, world } = await serviceWorld({ poll: taskIs(state) });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(FAILED);
  expect(JSON.parse(run.stdout)).toMatchObject({ ok: false, taskId: "task-1", resume: null });
  if (state.errorCode !== 0) expect(JSON.parse(run.stdout).error.message).toContain(String(state.errorCode));
  expect(server.requests.filter(({ target }) => !target.startsWith("/api"))).toEqual([]);
  expect(await world.afterResume()).toMatchObject({ exit: 0, submits: 1 });
});

it("a finished task that regresses is waited for again", async () => {
  const { world } = await serviceWorld({
    poll: inTurn(completedAt("/gone.png"), stillRunning, stillRunning, completedAt("/1.png")),
    file: (request, socket) =>
      void socket.write(request.target === "/gone.png" ? response(404, "") : response(200, PICTURE)),
  });
  expect(await world.afterGenerate()).toMatchObject({
    exit: 8,
    type: "save_failed",
    charged: "yes",
    files: [],
  });
  expect(await world.afterResume()).toEqual({ ...SAVED, charged: null });
});

it.each([
  ["resume", ["resume", "task-1", "--json"]],
  ["status --output", ["status", "task-1", "--json", "--output", "./"]],
])("a failed task that the service completes after all: %s saves it", async (_name, command) => {
  const { world } = await serviceWorld({
    poll: inTurn(taskIs({ status: "failed", errorCode: 9 }), completedAt("/1.png")),
  });
  expect(await world.afterGenerate()).toEqual(FAILED);
  const status = await world.run(["status", "task-1", "--json"]);
  expect(status.code).toBe(0);
  const told = JSON.parse(status.stdout);
  expect(told).toMatchObject({ ok: true, status: "completed", charged: "yes" });
  expect(told.error).toBeUndefined();
  expect(told.urls).toHaveLength(1);
  expect(await world.aftermath(await world.run(command))).toEqual(SAVED);
  // The ledger knows it by its image now.
  const rerun = ["rerun", "a-fox-task1.png", "--dry-run", "--json"];
  expect((await world.run(rerun)).code).toBe(0);
  const history = JSON.parse((await world.run(["history", "--json"])).stdout);
  expect(history).toMatchObject([{ taskId: "task-1", status: "completed" }]);
});

it("the same taskId twice: two requests, two files, two records", async () => {
  const { world } = await serviceWorld({ submit: replies(success({ taskId: "task-1" })) });
  expect(await world.afterGenerate()).toEqual(SAVED);
  expect(await world.afterGenerate()).toEqual({
    ...SAVED,
    submits: 2,
    files: ["a-fox-task1-2.png", "a-fox-task1.png"],
    done: ["saved", "saved"],
  });
});

it("another base URL at resume is refused with what is needed, and asked nothing", async () => {
  const [own, other] = await Promise.all([
    liveService(PICTURE, { poll: inTurn(reset, completedAt("/1.png")) }),
    liveService(PICTURE),
  ]);
  const world = await programWorld(own);
  expect(await world.afterGenerate(["--no-wait"])).toMatchObject({ exit: 0, open: ["accepted"] });
  const run = await world.resume(["task-1"], { env: { IMGGEN_BASE_URL: other.baseUrl } });
  expect(await world.aftermath(run)).toEqual({ ...PENDING, exit: 2, type: "usage" });
  const { message, hint } = JSON.parse(run.stdout).error;
  expect(message + hint).toContain(own.baseUrl);
  expect(other.requests).toEqual([]);
  expect(await world.afterResume(["task-1"])).toEqual(SAVED);
});

it("another key at resume is refused with what is needed, and asked nothing", async () => {
  const { server, world } = await serviceWorld();
  await world.generate(["--no-wait"]);
  const run = await world.resume(["task-1"], { env: { IMGGEN_API_KEY: "sk-canary-another-key" } });
  expect(await world.aftermath(run)).toEqual({ ...PENDING, exit: 2, type: "usage" });
  expect(run.stdout + run.stderr).toMatch(/key/);
  expect(server.requests).toHaveLength(1);
  expect(await world.afterResume(["task-1"])).toEqual(SAVED);
});
