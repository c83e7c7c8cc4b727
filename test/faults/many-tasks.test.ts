import { expect, it } from "vitest";
import { plantTasks } from "../support/many-tasks.ts";
import { finished } from "../support/program.ts";
import { serviceWorld } from "../support/program-world.ts";
import type { Behaviour, SeenRequest } from "../support/scripted-server.ts";
import { completedAt, stillRunning } from "../support/scripts.ts";
import { startedWhen, stopped } from "../support/started.ts";

const MANY = 5_000;

const taskIdOf = ({ target }: SeenRequest) => /taskId=([^&]+)/.exec(target)?.[1] ?? "";

/** Only the task with this id is completed. */
function onlyCompleted(taskId: string): Behaviour {
  const completed = completedAt("/1.png");
  return (request, socket) => (taskIdOf(request) === taskId ? completed : stillRunning)(request, socket);
}

it("resume saves a finished task at once that 40 running ones came after", async () => {
  const { server, world } = await serviceWorld({ poll: onlyCompleted("task-0") });
  plantTasks(world, 41);
  const program = world.start(["resume", "--poll-interval", "60s"]);
  const end = finished(program);
  const saved = new Promise<string>((resolve) => {
    program.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8")));
  });
  expect(await saved).toContain("task0.png");
  const polled = server.requests.filter(({ target }) => target.includes("taskId=")).map(taskIdOf);
  expect(polled).toHaveLength(41);
  expect(new Set(polled.slice(0, 32))).toEqual(
    new Set(polled.map((_, at) => `task-${40 - at}`).slice(0, 32)),
  );
  const { run } = await stopped(program, end, "SIGINT");
  expect(await world.aftermath(run)).toMatchObject({ exit: 130, done: ["saved"] });
  expect(await world.files()).toEqual(["task0.png"]);
  expect(run.stderr).toContain("40 tasks are charged and not saved yet");
});

it("SIGINT while 5,000 tasks are waited for: the first ids at once, a count, the rest by history, exit 130", async () => {
  const { server, world } = await serviceWorld({ poll: stillRunning });
  plantTasks(world, MANY);
  const { program, end } = await startedWhen(world, () => server.requests.length >= 200, ["resume"]);
  const told = new Promise<number>((resolve) => {
    program.stderr?.once("data", () => resolve(performance.now()));
  });
  const sent = performance.now();
  const { run, elapsedMs } = await stopped(program, end, "SIGINT");
  // 100 ms and 1 s are the promise; the rest is for a machine that is busy with other tests.
  expect((await told) - sent).toBeLessThan(100 + 9_900);
  expect(elapsedMs).toBeLessThan(1_000 + 19_000);
  expect(run.code).toBe(130);
  expect(run.stderr).toContain("5000 tasks are charged and not saved yet");
  expect(run.stderr).toMatch(/task-4999\n {2}task-4998\n/);
  expect(run.stderr).toContain("imggen history --all");
  expect(run.stderr.split("\n").length).toBeLessThan(30);
});

it("the same with --json: one document with the first 100 ids and the count", async () => {
  const { server, world } = await serviceWorld({ poll: stillRunning });
  plantTasks(world, MANY);
  const { program, end } = await startedWhen(world, () => server.requests.length >= 200, [
    "resume",
    "--json",
  ]);
  const { run } = await stopped(program, end, "SIGINT");
  const { ok, error, charged, pending, tasks } = JSON.parse(run.stdout);
  expect({ ok, charged, type: error.type, code: run.code }).toEqual({
    ...{ ok: false, charged: "yes", type: "interrupted", code: 130 },
  });
  expect(pending.count).toBe(MANY);
  expect(pending.taskIds).toHaveLength(100);
  expect(pending.taskIds[0]).toBe("task-4999");
  expect(tasks).toHaveLength(100);
});

it("status of 40 tasks among 5,000 reads the ledger once", async () => {
  const { world } = await serviceWorld({ poll: stillRunning });
  plantTasks(world, MANY);
  const ids = Array.from({ length: 40 }, (_, at) => `task-${100 * at}`);
  const [one, forty] = [await world.run(["status", "task-7"]), await world.run(["status", ...ids])];
  expect([one.code, forty.code, forty.stderr]).toEqual([6, 6, ""]);
  expect(forty.stdout.trimEnd().split("\n")).toHaveLength(40);
  expect(forty.elapsedMs).toBeLessThan(10 * one.elapsedMs);
});
