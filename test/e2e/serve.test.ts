import { readFileSync } from "node:fs";
import { request } from "undici";
import { expect, it } from "vitest";
import { png } from "../support/images.ts";
import { finished } from "../support/program.ts";
import { programWorld } from "../support/program-world.ts";
import { ended, imageServer, served } from "./image-server.ts";

const PAID = ["--generator-paid"];

it("what a server has before it is in the history; killed, its tasks are finished, named and dismissed by commands", async () => {
  const world = await programWorld(null);
  const { url, asked, count, reached } = await imageServer((reply, number) => number > 1 && reply());
  const flags = [...PAID, "--generator-concurrency", "1"];
  const first = await served(world, url, flags);
  const running = await first.accepted({ prompt: "a fox" });
  await reached(1);
  const waiting = await first.accepted({ prompt: "a hare" });
  const unfinished = async () => JSON.parse((await world.run(["history", "--unfinished", "--json"])).stdout);
  expect(await unfinished()).toMatchObject([
    { taskId: waiting, state: "waiting", charged: "no" },
    { taskId: running, state: "running", charged: "unknown" },
  ]);
  expect(await world.run(["resume"])).toMatchObject({
    code: 0,
    stderr: `Skipped 2 tasks of imggen serve, which is running (pid ${first.program.pid}).\n`,
  });
  const { pid } = first.program;
  expect(JSON.parse((await world.run(["resume", "--json"])).stdout)).toEqual({
    ok: true,
    tasks: [],
    served: [waiting, running].map((taskId) => ({ taskId, pid })),
  });
  const claimed = await world.run(["resume", waiting]);
  expect([claimed.code, claimed.stderr]).toEqual([
    6,
    expect.stringContaining(`Another process (pid ${first.program.pid}) is working on task ${waiting}.`),
  ]);

  first.program.kill("SIGKILL");
  await first.end;
  const resumed = await world.resume();
  expect([resumed.code, JSON.parse(resumed.stdout).tasks]).toMatchObject([
    9,
    [
      { taskId: waiting, ok: true, charged: "yes" },
      { taskId: running, charged: "unknown", error: { type: "outcome_unknown" } },
    ],
  ]);
  expect(await world.files()).toEqual([expect.stringMatching(/^a-hare-.*\.png$/)]);
  expect((await world.run(["doctor"])).stdout).toContain("The outcome of 1 request is unknown.");
  expect([...asked]).toEqual([running, waiting].map((taskId) => [taskId, 1]));

  const second = await served(world, url, flags);
  expect((await world.run(["resume", running, "--dismiss"])).code).toBe(0);
  expect(await unfinished()).toEqual([]);
  expect(await ended(second, running)).toMatchObject({ status: "failed", outcome: "unknown" });
  const { resultUrl } = await ended(second, waiting);
  const image = await (await request(String(resultUrl))).body.arrayBuffer();
  expect(Buffer.from(image).equals(png(1))).toBe(true);
  expect(count()).toBe(2);
});

it("what a killed command has left is its own: a server leaves it alone", async () => {
  const world = await programWorld(null);
  const { url, count, reached } = await imageServer((reply, number) => number > 1 && reply());
  const program = world.start(world.generateArgs(["--generator", url, "-m", "sdxl"]));
  const end = finished(program);
  await reached(1);
  program.kill("SIGKILL");
  await end;
  const server = await served(world, url);
  expect((await ended(server, await server.accepted({ prompt: "a hare" }))).status).toBe("completed");
  expect(count()).toBe(2);
  const resumed = await world.resume(["--generator", url]);
  expect(await world.aftermath(resumed)).toMatchObject({ exit: 0, open: [], done: ["saved", "saved"] });
  expect(count()).toBe(3);
});

/** How long the clients of the load test go on, in milliseconds, and how many there are. */
const LOAD_MS = Number(process.env.IMGGEN_LOAD_MS ?? 5_000);
const CLIENTS = 200;
const MAX_KIBIBYTES = 300 * 1024;

it("200 clients at once lose nothing, and the server's memory stays small", {
  timeout: LOAD_MS + 120_000,
}, async () => {
  const world = await programWorld(null);
  const { url, asked, mostOpen } = await imageServer();
  const server = await served(world, url, ["--generator-concurrency", "8", ...PAID]);
  const until = performance.now() + LOAD_MS;
  const tasks = new Set<string>();
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (performance.now() < until) {
      const taskId = await server.accepted({ prompt: "a fox" });
      tasks.add(taskId);
      const { resultUrl } = await ended(server, taskId, 500);
      const image = await (await request(String(resultUrl))).body.arrayBuffer();
      expect(Buffer.from(image).equals(png(1))).toBe(true);
    }
  });
  await Promise.all(clients);
  const status = readFileSync(`/proc/${server.program.pid}/status`, "utf8");
  const peak = Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]);
  console.log(`${tasks.size} tasks of ${CLIENTS} clients in ${LOAD_MS} ms, ${Math.round(peak / 1024)} MiB`);
  expect(tasks.size).toBeGreaterThanOrEqual(CLIENTS);
  expect([...asked.values()].every((times) => times === 1)).toBe(true);
  expect(new Set(asked.keys())).toEqual(tasks);
  expect(mostOpen()).toBeLessThanOrEqual(8);
  expect(peak).toBeLessThan(MAX_KIBIBYTES);
});

it("a client that sends its request again after the server was killed has sent it once to the generator", async () => {
  const world = await programWorld(null);
  const { url, count, reached } = await imageServer((reply, number) => number > 1 && reply());
  const ask = async ({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": "fox-1",
    };
    const body = JSON.stringify({ prompt: "a fox" });
    const url = `${new URL(baseUrl).origin}/v1/images/generations`;
    const reply = await request(url, { method: "POST", headers, body });
    return reply.body.json();
  };
  const first = await served(world, url, PAID);
  const cut = expect(ask(first)).rejects.toThrow();
  await reached(1);
  first.program.kill("SIGKILL");
  await Promise.all([first.end, cut]);
  const second = await served(world, url, PAID);
  for (const _each of [1, 2]) expect(await ask(second)).toMatchObject({ error: { code: "outcome_unknown" } });
  expect(count()).toBe(1);
});
