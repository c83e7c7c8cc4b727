import { spawnSync } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { answers, numberIn, type Part } from "../support/doubles/double.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { OPENAI } from "../support/doubles/synchronous.ts";
import { paidWorld } from "../support/paid-world.ts";
import { finished } from "../support/program.ts";
import type { ProgramWorld } from "../support/program-world.ts";
import type { Behaviour } from "../support/scripted-server.ts";
import { inTurn, silence } from "../support/scripts.ts";
import { handlesSignals, killed, startedWhen, stopped } from "../support/started.ts";
import { pause } from "../support/wait.ts";

const usual =
  (part: Part, number = 1): Behaviour =>
  (request, socket) => {
    const reply = REPLICATE.replies[part];
    if (!reply) throw new TypeError(`no usual reply to ${part}`);
    return answers(reply, number)(request, socket);
  };

const running: Behaviour = (request, socket) => {
  const reply = REPLICATE.ends?.running.poll;
  if (!reply) throw new TypeError("a service with jobs");
  return answers(reply, numberIn(request.target))(request, socket);
};

const refused = (status: number, headers?: Record<string, string>): Behaviour =>
  answers(() => REPLICATE.error(status, "no", headers));

const IMAGE = expect.stringMatching(/\.png$/);

/** Whether the task's second request waits out a 429, its first one accepted. */
async function waitsUnsent(world: ProgramWorld): Promise<boolean> {
  const [lines = []] = await world.records("open");
  return lines.some(({ type, request }) => type === "waiting" && request === 1);
}

describe("two images of a paid service with ids", () => {
  it.each([
    ["402", refused(402), 4],
    ["401", refused(401), 3],
    ["a long 429", refused(429, { "retry-after": "3600" }), 6],
  ])(
    "whose second request is answered with %s: the first is saved, and the task stays open",
    async (_what, second, exit) => {
      const submit = inTurn(usual("submit"), second, usual("submit", 3));
      const { double, world, args, env } = await paidWorld(REPLICATE, { submit });
      const run = await world.run([...args, "--max-images", "2"], { env });
      const json = JSON.parse(run.stdout);
      expect({ code: run.code, ok: json.ok, charged: json.charged, files: json.files.length }).toEqual({
        code: exit,
        ok: false,
        charged: "yes",
        files: 1,
      });
      expect(await world.files()).toEqual([IMAGE]);
      expect(double.submits()).toHaveLength(2);
      expect((await world.ledger()).open).toHaveLength(1);
      expect(await world.afterResume(["--generator-paid"], { env })).toMatchObject({
        exit: 0,
        open: [],
        files: [IMAGE, IMAGE],
      });
      expect(double.submits()).toHaveLength(3);
    },
  );

  it("are each saved when they are ready: the first while the second waits out a 429", async () => {
    const submit = inTurn(usual("submit"), refused(429, { "retry-after": "60" }));
    const { world, args, env } = await paidWorld(REPLICATE, { submit });
    const isSaved = async () => (await world.files()).length === 1 && (await waitsUnsent(world));
    await killed(await startedWhen(world, isSaved, [...args, "--max-images", "2"], { env }));
  });

  it("of which one waits unsent: status --output saves the other, submits nothing and ends at once, exit 6", async () => {
    const submit = inTurn(usual("submit"), refused(429, { "retry-after": "60" }));
    let isMade = false;
    const poll: Behaviour = (request, socket) => (isMade ? usual("poll") : running)(request, socket);
    const { double, world, args, env } = await paidWorld(REPLICATE, { submit, poll });
    const isUnsent = () => waitsUnsent(world);
    await killed(await startedWhen(world, isUnsent, [...args, "--max-images", "2"], { env }));
    isMade = true;
    const there = path.join(world.folder, "there");
    await mkdir(there);
    const [lines = []] = await world.records("open");
    const { taskId } = (lines[0] ?? {}) as { taskId: string };
    for (const wait of [[], ["--wait"]]) {
      const run = await world.run(["status", taskId, "--json", "--output", `${there}/`, ...wait], { env });
      expect(run.code).toBe(6);
      expect(await readdir(there)).toEqual([IMAGE]);
    }
    expect(double.submits()).toHaveLength(2);
  });

  it("of which one is in flight: SIGINT, then SIGTERM a second later, cancels neither, and resume goes on", async () => {
    const submit = inTurn(usual("submit"), silence);
    let isMade = false;
    const poll: Behaviour = (request, socket) => (isMade ? usual("poll") : running)(request, socket);
    const { double, world, args, env } = await paidWorld(REPLICATE, { submit, poll });
    const isSent = () => double.submits().length === 2 && double.asked("poll").length > 0;
    const { program, end } = await startedWhen(world, isSent, [...args, "--max-images", "2"], { env });
    await handlesSignals(program);
    program.kill("SIGINT");
    await pause(1000);
    expect(program.exitCode).toBe(null);
    const { run, elapsedMs } = await stopped(program, end, "SIGTERM");
    expect(run.code).toBe(143);
    expect(elapsedMs).toBeLessThan(3000);
    expect(double.asked("cancel")).toEqual([]);
    isMade = true;
    const resumed = await world.afterResume(["--generator-paid"], { env });
    expect(resumed).toMatchObject({ exit: 10, files: [IMAGE] });
    expect(double.submits()).toHaveLength(2);
    expect(double.asked("cancel")).toEqual([]);
  });
});

describe("a run after a 401", () => {
  it.each(["1", "3"])("sends nothing more at %s at once, whatever waits", async (places) => {
    const submit = answers(() => OPENAI.error(401, "no"));
    const { double, world, env } = await paidWorld(OPENAI, { submit });
    const manifest = await world.manifest(Array.from({ length: 12 }, (_, at) => `fox ${at}`));
    const flags = `--yes --json --model flux --generator-paid --concurrency 12 --generator-concurrency ${places}`;
    const batch = ["batch", manifest, "--output", `${world.out}/`, ...flags.split(" ")];
    const run = await world.run(batch, { env });
    expect(run.code).toBe(3);
    expect(double.submits().length).toBeLessThanOrEqual(Number(places));
  });
});

it("resume with 40 open tasks polls each once before any again, and saves at once what is made", async () => {
  let isMade = false;
  const poll: Behaviour = (request, socket) =>
    (isMade && numberIn(request.target) === 1 ? usual("poll", 1) : running)(request, socket);
  const { double, world, env } = await paidWorld(REPLICATE, { poll });
  const manifest = await world.manifest(Array.from({ length: 40 }, (_, at) => `fox ${at}`));
  const flags = `--yes --json --model ${REPLICATE.model} --generator-paid --concurrency 40 --generator-concurrency 40`;
  const batch = ["batch", manifest, "--output", `${world.out}/`, ...flags.split(" ")];
  const areAccepted = async () =>
    (await world.ledger()).open.filter((type) => type === "accepted").length === 40;
  await killed(await startedWhen(world, areAccepted, batch, { env }));
  isMade = true;
  const before = double.asked("poll").length;
  const isSaved = async () => (await world.files()).some((name) => name.endsWith(".png"));
  const resume = ["resume", "--json", "--generator-paid", "--poll-interval", "1s", "--timeout", "5m"];
  const program = world.start(resume, { env });
  const end = finished(program);
  while (!(await isSaved())) await pause(20);
  const polled = double
    .asked("poll")
    .slice(before)
    .map(({ target }) => target);
  await killed({ program, end });
  expect(new Set(polled.slice(0, 40)).size).toBe(40);
  expect(polled.length).toBeLessThan(120);
  expect(double.submits()).toHaveLength(40);
});

/** Starts a command as a container would: it sees no process but its own. */
const CONTAINER = ["unshare", "-Urpf", "--mount-proc", "--kill-child"];

it("two images begun in one container: resume in another one leaves them alone while the first lives", async (test) => {
  if (spawnSync("unshare", [...CONTAINER.slice(1), "true"]).status !== 0)
    return test.skip("needs namespaces of process ids");
  let isReady = false;
  let charged = 0;
  const submit: Behaviour = (request, socket) => {
    if (charged > 0 && !isReady) return refused(429, { "retry-after": "1" })(request, socket);
    charged += 1;
    return usual("submit", charged)(request, socket);
  };
  const poll: Behaviour = (request, socket) =>
    isReady ? usual("poll", numberIn(request.target))(request, socket) : running(request, socket);
  const { world, args, env } = await paidWorld(REPLICATE, { submit, poll });
  const inContainer = { env, through: CONTAINER };
  const command = [...args, "--max-images", "2"];
  const { end } = await startedWhen(world, () => waitsUnsent(world), command, inContainer);
  const resumed = await world.resume(["--generator-paid"], inContainer);
  expect({ code: resumed.code, charged }).toEqual({ code: 6, charged: 1 });
  expect(JSON.parse(resumed.stdout).tasks).toMatchObject([{ error: { type: "pending" } }]);
  isReady = true;
  expect((await end).code).toBe(0);
  expect(charged).toBe(2);
  expect(await world.files()).toEqual([IMAGE, IMAGE]);
});
