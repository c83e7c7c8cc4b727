import { type ChildProcess, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { accepts } from "../support/batch-world.ts";
import { PICTURE } from "../support/images.ts";
import { finished, type ProgramResult } from "../support/program.ts";
import { CANARY, type ProgramWorld, programWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import { type Behaviour, failure, response, success } from "../support/scripted-server.ts";
import { completedAt, inTurn, late, replies, silence, stillRunning, taskIs } from "../support/scripts.ts";
import { settingsFile, storedSettings } from "../support/settings-file.ts";
import { killed, startedUntil, startedWhen } from "../support/started.ts";
import { pause } from "../support/wait.ts";

const WHOLE = response(200, PICTURE);

it("two generations at once in one home and one folder: both saved, neither in the other's way", async () => {
  const { world } = await serviceWorld({ poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")) });
  const runs = await Promise.all([world, world].map((same) => same.generate(["--name", "fox"])));
  for (const run of runs) expect(run.code).toBe(0);
  expect(await world.files()).toEqual(["fox-2.png", "fox.png"]);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved", "saved"] });
  const paths = runs.map(({ stdout }) => JSON.parse(stdout).files[0].path);
  expect(new Set(paths).size).toBe(2);
});

it("two runs at once of a command that was interrupted: one continues its task, the other submits", async () => {
  const submit = inTurn(replies(success({ taskId: "task-1" })), replies(success({ taskId: "task-2" })));
  // Neither is done with its task before the other has looked for one.
  const poll = inTurn(...Array(8).fill(stillRunning), completedAt("/1.png"));
  const { server, world } = await serviceWorld({ submit, poll });
  await world.generate(["--no-wait"]);
  const runs = await Promise.all([world, world].map((same) => same.generate()));
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(runs.map(({ stdout }) => JSON.parse(stdout).reused === true).sort()).toEqual([false, true]);
  expect(server.submits()).toHaveLength(2);
  expect(await world.files()).toEqual(["a-fox-task1.png", "a-fox-task2.png"]);
});

it("four generations with --reuse at once: one submit, and all of them return its image", async () => {
  const { server, world } = await serviceWorld({ submit: late(300, replies(success({ taskId: "task-1" }))) });
  const runs = await Promise.all(
    [world, world, world, world].map((same) => same.generate(["--reuse", "--quiet"])),
  );
  expect(server.submits()).toHaveLength(1);
  expect(await world.files()).toEqual(["a-fox-task1.png"]);
  for (const { code, stdout } of runs) {
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ taskId: "task-1", status: "completed", charged: "yes" });
  }
  expect(runs.filter(({ stdout }) => JSON.parse(stdout).reused)).toHaveLength(3);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
});

it("--reuse beside a submit that is refused: the request is submitted again", async () => {
  const hasWaited = new Gate();
  const { server, world } = await serviceWorld({
    submit: inTurn(hasWaited.before(replies(failure("my_credits.no_credits_description"))), accepts),
  });
  const first = world.generate();
  while (server.submits().length === 0) await pause(10);
  const [second] = await waitingGenerations(world, 1);
  hasWaited.open();
  expect((await first).code).toBe(4);
  expect((await second)?.code).toBe(0);
  expect(server.submits()).toHaveLength(2);
});

it("--reuse beside a submit whose process is killed: unknown, and nothing is spent", async () => {
  const { server, world } = await serviceWorld({ submit: silence });
  const started = await startedWhen(world, () => server.submits().length !== 0);
  const second = world.generate(["--reuse"]);
  await pause(300);
  await killed(started);
  const { code, stdout } = await second;
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 9, charged: "unknown" });
  expect(server.submits()).toHaveLength(1);
});

it("two generations with --reuse beside one whose task the service cannot finish: one submit", async () => {
  const failed = taskIs({ status: "failed", errorCode: "content_policy" });
  const haveWaited = new Gate();
  const { server, world } = await serviceWorld({ poll: haveWaited.before(failed) });
  const first = world.generate(["--reuse"]);
  while (server.submits().length === 0) await pause(10);
  const others = await waitingGenerations(world, 2);
  haveWaited.open();
  const runs = await Promise.all([first, ...others]);
  expect(runs.map(({ code }) => code)).toEqual([5, 5, 5]);
  expect(runs.map(({ stdout }) => JSON.parse(stdout).reused)).toEqual([undefined, true, true]);
  expect(server.submits()).toHaveLength(1);
});

it("Ctrl-C while --reuse waits for another process: the task's id, and what is charged", async () => {
  const { server, world } = await serviceWorld({ poll: stillRunning });
  const first = await startedUntil(world, server, 2);
  const [second] = await waitingGenerations(world, 1, (program) => program.kill("SIGINT"));
  const { code = null, stdout = "" } = (await second) ?? {};
  const { taskId, charged, error } = JSON.parse(stdout);
  expect([code, taskId, charged, error.type]).toEqual([130, "task-1", "yes", "interrupted"]);
  await killed(first);
});

/** What a service answers only once a test has opened it. */
class Gate {
  open = () => {};
  readonly #opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  before(behave: Behaviour): Behaviour {
    return async (request, socket) => {
      await this.#opened;
      await behave(request, socket);
    };
  }
}

/** Starts generations with --reuse. @returns their ends, once all of them wait for another process */
async function waitingGenerations(
  world: ProgramWorld,
  count: number,
  onWaiting: (program: ChildProcess) => void = () => {},
): Promise<Promise<ProgramResult>[]> {
  const programs = Array.from({ length: count }, () => world.start(world.generateArgs(["--reuse"])));
  const ends = programs.map(finished);
  await Promise.all(
    programs.map(async (program) => {
      let said = "";
      program.stderr?.on("data", (chunk: Buffer) => (said += chunk));
      while (!said.includes("Waiting for another process")) await pause(10);
      onWaiting(program);
    }),
  );
  return ends;
}

it("--reuse beside a process that waits for the task's images: pending where the timeout is short", async () => {
  const { server, world } = await serviceWorld({ poll: stillRunning });
  const started = await startedWhen(world, () => server.requests.length >= 2);
  const { code, stdout } = await world.generate(["--reuse", "--timeout", "1s"]);
  const { taskId, charged, error } = JSON.parse(stdout);
  expect([code, taskId, charged, error.type]).toEqual([6, "task-1", "yes", "pending"]);
  const free = await world.generate(["--reuse", "--no-wait"]);
  expect(JSON.parse(free.stdout)).toMatchObject({ ok: true, taskId: "task-1", status: "submitted" });
  expect(server.submits()).toHaveLength(1);
  await killed(started);
});

it("two resumes at once of one task: one file, and neither fails the other", async () => {
  const { world } = await serviceWorld({ poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")) });
  await world.generate(["--no-wait"]);
  const runs = await Promise.all([world.resume(), world.resume()]);
  expect(runs.map(({ code }) => code)).toContain(0);
  for (const { code } of runs) expect([0, 6]).toContain(code);
  expect(await world.files()).toEqual(["a-fox-task1.png"]);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
});

it("the claim of a killed process is released", async () => {
  const { server, world } = await serviceWorld({ poll: inTurn(silence, silence, completedAt("/1.png")) });
  for (const args of [world.generateArgs(), ["resume", "--json", "--poll-interval", "100ms"]]) {
    const before = server.requests.length;
    await killed(
      await startedWhen(
        world,
        () => server.requests.slice(before).some(({ method }) => method === "GET"),
        args,
      ),
    );
  }
  expect(await world.afterResume(["task-1"])).toEqual(SAVED);
  expect(await readdir(path.join(world.home, "state/tasks/open"))).toEqual([]);
});

it("login beside logout: the settings are one or the other, never damaged", async () => {
  const world = await programWorld(null, { IMGGEN_API_KEY: undefined });
  const baseUrl = "https://service.example/api";
  const login = () => world.run(["login", "--no-verify", "--base-url", baseUrl], { input: `${CANARY}\n` });
  const runs = await Promise.all([
    login(),
    world.run(["logout"]),
    login(),
    world.run(["config", "set", "model", "z-image"]),
    world.run(["logout"]),
    world.run(["config", "set", "quality", "2K"]),
  ]);
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  const file = settingsFile(world);
  const settings = await storedSettings(world);
  expect(settings).toMatchObject({ model: "z-image", quality: "2K" });
  expect([undefined, CANARY]).toContain(settings.apiKey);
  expect(settings.baseUrl).toBe(settings.apiKey === undefined ? undefined : baseUrl);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(path.dirname(file))).toEqual(["config.json"]);
});

it("two machines in one folder: resume on one leaves alone what the other may still be downloading", async () => {
  const half = WHOLE.subarray(0, WHOLE.length - 9);
  const { server, world } = await serviceWorld({ file: inTurn(replies(half), replies(WHOLE)) });
  const drafts = async () => (await readdir(world.out)).filter((name) => name.startsWith("."));
  await killed(
    await startedWhen(world, async () => server.requests.length >= 3 && (await drafts()).length > 0),
  );
  const [own = ""] = await drafts();
  // As if another machine were at work on a task of its own.
  const others = own.replace(/-[0-9a-f]{8}(\.[0-9a-f]{8})$/, "-00000000$1");
  expect(others).not.toBe(own);
  await copyFile(path.join(world.out, own), path.join(world.out, others));
  expect((await world.resume()).code).toBe(0);
  expect(await drafts()).toEqual([others]);
});

/** Starts a command as a container would: its process numbers count from 1, the rest it shares. */
const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"];
const HAS_CONTAINERS = spawnSync("unshare", [...CONTAINER.slice(1), "true"]).status === 0;

it.skipIf(!HAS_CONTAINERS)(
  "two containers on one home and one batch, with the same host name: no row is submitted twice",
  async () => {
    const { server, world } = await serviceWorld({ submit: late(3_000, accepts) });
    const args = ["batch", await world.manifest(["a fox", "an owl"]), "--yes", "--poll-interval", "100ms"];
    const first = finished(world.start(args, { through: CONTAINER }));
    while (server.submits().length < 2) await pause(10);
    const second = await world.run([...args, "--resubmit-unknown"], { through: CONTAINER });
    await first;
    expect(server.submits(), second.stderr).toHaveLength(2);
    expect((await world.ledger()).open).toEqual([]);
  },
);

it.skipIf(!HAS_CONTAINERS)(
  "generations with --reuse in several containers on one home: one submit, and all of them return its image",
  async () => {
    const { server, world } = await serviceWorld({ submit: late(1_000, accepts) });
    const runs = await Promise.all(
      [1, 2, 3, 4].map(() => world.run(world.generateArgs(["--reuse", "--quiet"]), { through: CONTAINER })),
    );
    expect(server.submits()).toHaveLength(1);
    for (const { code, stdout } of runs) {
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ taskId: "task-a-fox", status: "completed", charged: "yes" });
    }
  },
);

it.skipIf(!HAS_CONTAINERS)(
  "a request in a container that is killed during its submit, run again in another one: no second submit, and --again submits",
  async () => {
    const { server, world } = await serviceWorld({ submit: inTurn(silence, accepts) });
    const inContainer = { through: [...CONTAINER, "--kill-child"] };
    await killed(
      await startedWhen(world, () => server.submits().length >= 1, world.generateArgs(), inContainer),
    );
    const again = await world.run(world.generateArgs(), inContainer);
    expect(JSON.parse(again.stdout)).toMatchObject({ error: { type: "pending" }, charged: "unknown" });
    expect([again.code, server.submits().length]).toEqual([6, 1]);
    const asked = await world.run(world.generateArgs(["--again"]), inContainer);
    expect([asked.code, server.submits().length]).toEqual([0, 2]);
  },
);

/** What the ticket of a process that holds tasks says. */
interface HolderLease {
  by: { pid: number; host: string; scope: string; started: string };
  from: number;
  until: number;
}

/** The one ticket of a process that holds tasks, and how to replace what it says. */
async function holderTicket({ home }: ProgramWorld) {
  const folder = path.join(home, "state/tasks/holders");
  const names = await readdir(folder);
  expect(names).toEqual([expect.stringMatching(/^holder-[0-9a-f]{16}\.\.[0-9a-f]{8}$/)]);
  const file = path.join(folder, names[0] ?? "");
  const lease: HolderLease = JSON.parse(await readFile(file, "utf8"));
  const replace = (by: Partial<HolderLease["by"]>, untilMs: number) =>
    writeFile(
      file,
      JSON.stringify({ by: { ...lease.by, ...by }, from: lease.from, until: Date.now() + untilMs }),
    );
  return { lease, replace };
}

it("a claim of another machine is respected until it says, and it ends a minute after it was renewed last", async () => {
  const { server, world } = await serviceWorld({ submit: silence });
  const args = world.generateArgs(["--request-timeout", "300s"]);
  await killed(await startedUntil(world, server, 1, args));
  const { lease, replace } = await holderTicket(world);
  expect(lease.until - lease.from).toBe(60_000);
  const resumed = async (untilMs: number) => {
    await replace({ pid: 1, host: "elsewhere", scope: "elsewhere", started: "1" }, untilMs);
    return (await world.resume()).code;
  };
  expect(await resumed(60_000)).toBe(6);
  expect(await resumed(20_000)).toBe(6);
  expect((await world.ledger()).open).toEqual(["intent"]);
  expect(await resumed(-1_000)).toBe(9);
  expect(server.submits()).toHaveLength(1);
});

/** Starts a command whose parent never waits for it, so that it keeps its process number when it has ended. */
const UNWAITED = ["sh", "-c", '"$@" & exec sleep 60', "sh"];

it("the claim of a killed process that its parent has not waited for is released", async (test) => {
  if (!existsSync("/proc/self/stat")) return test.skip("needs /proc");
  const { world } = await serviceWorld({ submit: replies(response(429, "", { "retry-after": "60" })) });
  const parent = world.start(world.generateArgs(), { through: UNWAITED });
  onTestFinished(() => void parent.kill("SIGKILL"));
  while ((await world.ledger()).open[0] !== "waiting") await pause(10);
  const { lease } = await holderTicket(world);
  const { pid } = lease.by;
  process.kill(pid, "SIGKILL");
  while (!/\) Z /.test(await readFile(`/proc/${pid}/stat`, "utf8"))) await pause(10);
  expect((await world.resume()).code).toBe(0);
  expect(await world.ledger()).toEqual({ open: [], done: ["not_sent"] });
});

/** Starts a command as it is on systems that have no /proc. */
const WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"];

it("a process number that is in use again, without /proc: the task is held no longer than its ticket says", async (test) => {
  if (spawnSync("unshare", [...WITHOUT_PROC.slice(1), "true"]).status !== 0)
    return test.skip("needs permission to unmount /proc");
  const { server, world } = await serviceWorld({ poll: inTurn(silence, completedAt("/1.png")) });
  const options = { through: WITHOUT_PROC };
  await killed(await startedWhen(world, () => server.requests.length >= 2, world.generateArgs(), options));
  const { lease, replace } = await holderTicket(world);
  // Without the start of a process, another one with its number in the same boot looks like it.
  expect(lease.by.started).toBe("");
  const resumed = async (untilMs: number) => {
    await replace({ pid: process.pid }, untilMs);
    return (await world.resume([], options)).code;
  };
  expect(await resumed(60_000)).toBe(6);
  expect(await resumed(-1_000)).toBe(0);
  expect(await world.files()).toEqual(["a-fox-task1.png"]);
});
