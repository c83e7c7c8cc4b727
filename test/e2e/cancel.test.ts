import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { finished } from "../support/program.ts";
import { type ProgramWorld, programWorld } from "../support/program-world.ts";
import { pause } from "../support/wait.ts";
import { imageServer, served } from "./image-server.ts";

const PAID = "--generator-paid";

/** `imggen generate` at a generator in a process of its own. */
function generating(world: ProgramWorld, url: string, flags: readonly string[] = []) {
  const args = ["--generator", url, "-m", "sdxl", "--generator-concurrency", "1", ...flags];
  const program = world.start(world.generateArgs(args));
  const end = finished(program).then(({ code, stdout }) => ({ code, ...JSON.parse(stdout) }));
  return { program, end };
}

/** The ids of the open tasks in a state, oldest first, once there is one. */
async function inState(world: ProgramWorld, state: string): Promise<string[]> {
  for (;;) {
    const { stdout } = await world.run(["history", "--unfinished", "--json"]);
    const found = JSON.parse(stdout).filter((task: { state: string }) => task.state === state);
    if (found.length > 0) return found.map(({ taskId }: { taskId: string }) => taskId).reverse();
    await pause(50);
  }
}

/** A paid request in flight until `reply` is called, and a second process that waits for its turn. */
async function oneRunsOneWaits() {
  const world = await programWorld(null);
  let reply = () => {};
  const server = await imageServer((answer, number) => {
    if (number === 1) reply = answer;
    else answer();
  });
  const first = generating(world, server.url, [PAID]);
  await server.reached(1);
  const second = generating(world, server.url, [PAID, "--again"]);
  const [waiting = ""] = await inState(world, "waiting");
  return { world, server, first, second, waiting, reply: () => reply() };
}

const CANCELLED = {
  code: 5,
  charged: "no",
  error: { type: "generation_failed", message: expect.stringContaining("has no image: it was cancelled.") },
};

it("what waits for its turn in a living process is ended there, at no charge, and both are told", async () => {
  const { world, server, first, second, waiting, reply } = await oneRunsOneWaits();
  expect(await world.run(["cancel", waiting])).toMatchObject({
    code: 0,
    stdout: `${waiting}  cancelled, nothing was charged\n`,
  });
  expect(await second.end).toMatchObject({ ...CANCELLED, taskId: waiting });
  expect((await world.run(["cancel", waiting])).stdout).toContain("already finished (cancelled)");
  reply();
  expect(await first.end).toMatchObject({ code: 0, charged: "yes" });
  expect(server.count()).toBe(1);
  expect(readdirSync(path.join(world.home, "state/tasks/cancelled"))).toEqual([]);
});

it("a paid request of a living process in flight is left, and saved", async () => {
  const world = await programWorld(null);
  let reply = () => {};
  const { url, reached } = await imageServer((answer) => {
    reply = answer;
  });
  const { end, program } = generating(world, url, [PAID]);
  await reached(1);
  const [running = ""] = await inState(world, "running");
  const { code, stdout } = await world.run(["cancel", running, "--json"]);
  expect([code, JSON.parse(stdout)]).toMatchObject([
    6,
    {
      charged: "unknown",
      cancelled: 0,
      error: {
        type: "pending",
        message: `Another process (pid ${program.pid}) is working on task ${running}, so it was not cancelled: its request is in flight, and may be charged.`,
      },
    },
  ]);
  reply();
  expect(await end).toMatchObject({ code: 0, taskId: running });
});

it("what a living process has a free generator make is given up", async () => {
  const world = await programWorld(null);
  const { url, count, reached } = await imageServer(() => {});
  const { end } = generating(world, url);
  await reached(1);
  const [running = ""] = await inState(world, "running");
  expect(await world.run(["cancel", running])).toMatchObject({ code: 0 });
  expect(await end).toMatchObject({ ...CANCELLED, taskId: running });
  expect(count()).toBe(1);
});

it.each(["goes on", "is killed"])("a process that is stopped, and %s: the task is not sent", async (what) => {
  const { world, server, first, second, waiting, reply } = await oneRunsOneWaits();
  second.program.kill("SIGSTOP");
  const cancelling = world.start(["cancel", waiting, "--json"]);
  const cancelled = finished(cancelling);
  const marks = path.join(world.home, "state/tasks/cancelled");
  await expect.poll(() => existsSync(marks) && readdirSync(marks).length).toBe(1);
  cancelling.kill("SIGKILL");
  await cancelled;
  if (what === "goes on") {
    second.program.kill("SIGCONT");
    expect(await second.end).toMatchObject(CANCELLED);
  } else {
    second.program.kill("SIGKILL");
    await second.end.catch(() => {});
    const { code, stdout } = await world.resume([waiting]);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject(CANCELLED);
  }
  reply();
  expect((await first.end).code).toBe(0);
  expect(server.count()).toBe(1);
});

it("whoever is first, a request that is called free was not sent", async () => {
  const cancelledAfter = async (delayMs: number) => {
    const { world, server, first, second, waiting, reply } = await oneRunsOneWaits();
    const cancelling = world.run(["cancel", waiting, "--json"]);
    await pause(delayMs);
    reply();
    const { code, stdout } = await cancelling;
    const { charged } = JSON.parse(stdout);
    const [, { code: secondCode }] = await Promise.all([first.end, second.end]);
    if (charged === "no") expect([code, secondCode, server.asked.get(waiting)]).toEqual([0, 5, undefined]);
    else expect([secondCode, server.asked.get(waiting)]).toEqual([0, 1]);
  };
  await Promise.all([0, 100, 200, 300].map(cancelledAfter));
});

it("of a server, what waits and what runs for free is ended, and its clients are told", async () => {
  const world = await programWorld(null);
  const { url, count, reached } = await imageServer(() => {});
  const server = await served(world, url, ["--generator-concurrency", "1"]);
  const running = await server.accepted({ prompt: "a fox" });
  await reached(1);
  const waiting: string[] = [];
  for (let at = 0; at < 5; at++) waiting.push(await server.accepted({ prompt: `owl ${at}` }));
  const ids = [...waiting, running];
  expect((await world.run(["cancel", ...ids, "--json"])).code).toBe(0);
  for (const taskId of ids) {
    const status = async () => (await server.poll(taskId)).body.data;
    await expect.poll(status).toMatchObject({ status: "failed", detail: "It was cancelled." });
  }
  expect(count()).toBe(1);
});
