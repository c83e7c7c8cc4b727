import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { buildPng } from "../lib/image/builders.ts";
import { accepts, jsonLines } from "../support/batch-world.ts";
import { failingDisk } from "../support/failing-disk.ts";
import { makesImage, modelList } from "../support/generator-world.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { generatorEnvironment } from "../support/paid-world.ts";
import { type ProgramWorld, programWorld, serviceWorld } from "../support/program-world.ts";
import { type Behaviour, response, type ServiceScript } from "../support/scripted-server.ts";
import { completedAt, inTurn, late, silence, stillRunning } from "../support/scripts.ts";
import { killed, startedWhen, stopped } from "../support/started.ts";
import { pause } from "../support/wait.ts";
import { words } from "../support/words.ts";

const FLAGS = ["-m", "z-image", "--yes", "--name", "{slug}", "--poll-interval", "100ms"];

async function batchOf(rows: number, script: ServiceScript) {
  const { server, world } = await serviceWorld({ submit: accepts, ...script });
  const prompts = Array.from({ length: rows }, (_, index) => `fox ${index}`);
  const args = ["batch", await world.manifest(prompts), ...FLAGS];
  const files = prompts.map((prompt) => `${prompt.replace(" ", "-")}.png`).toSorted();
  return { server, world, args, prompts, files };
}

const promptsOf = (world: ProgramWorld) =>
  world.server
    ?.submits()
    .map(({ body }) => String(JSON.parse(body).prompt))
    .toSorted();

it("the same batch twice at once: every row is submitted once, every image is whole, and both exit 0", async () => {
  const { world, args, prompts, files } = await batchOf(24, {
    submit: late(20, accepts),
    poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")),
  });
  const runs = await Promise.all([world, world].map((same) => same.run([...args, "--json"])));
  for (const run of runs) {
    expect(run.code, run.stderr).toBe(0);
    const summary = jsonLines(run.stdout).at(-1);
    expect(Number(summary?.saved) + Number(summary?.skipped)).toBe(24);
  }
  expect(promptsOf(world)).toEqual(prompts.toSorted());
  expect(await world.files()).toEqual(files);
  expect(await world.ledger()).toEqual({ open: [], done: prompts.map(() => "saved") });
});

/** `generate` with several seeds at a paid generator that counts what it is sent; the third request gets no reply. */
async function seedsOf() {
  const generate = inTurn(makesImage, makesImage, silence, makesImage);
  const behave: Behaviour = (request, socket) =>
    request.method === "POST" ? generate(request, socket) : void socket.write(modelList("flux"));
  const server = await liveServer(behave);
  const world = await programWorld(null);
  const env = generatorEnvironment(server.origin);
  const args = (seeds: string) => [
    ...["generate", "a fox", "--seed", seeds, "--generator-paid", "--yes", "--json"],
    ...["-m", "flux", "--concurrency", "1"],
  ];
  const sent = () => server.submits().map(({ body }) => Number(JSON.parse(body).seed));
  const run = async (seeds: string, ...flags: string[]) => {
    const { code, stdout } = await world.run([...args(seeds), ...flags], { env });
    return { code, document: JSON.parse(stdout) };
  };
  return { world, server, env, args, sent, run };
}

it("SIGKILL in a generate of several paid seeds: the same command pays for each seed once, and one more only with --resubmit-unknown", async () => {
  const { world, env, args, sent, run } = await seedsOf();
  await killed(await startedWhen(world, () => sent().length === 3, args("1-4"), { env }));
  expect(sent()).toEqual([1, 2, 3]);
  const again = await run("1-5");
  expect(sent()).toEqual([1, 2, 3, 4, 5]);
  expect(again).toMatchObject({
    code: 10,
    document: {
      ok: false,
      tasks: [
        { ok: true, skipped: true },
        { ok: true, skipped: true },
        { ok: false, charged: "unknown", error: { type: "outcome_unknown" } },
        { ok: true },
        { ok: true },
      ],
    },
  });
  expect(await run("1-5", "--resubmit-unknown")).toMatchObject({ code: 0, document: { ok: true } });
  expect(sent()).toEqual([1, 2, 3, 4, 5, 3]);
});

it("two generates of the same paid seeds at once: each seed is paid for once", async () => {
  const { sent, run } = await seedsOf();
  const runs = await Promise.all([run("1-2"), run("1-2")]);
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(sent().toSorted()).toEqual([1, 2]);
});

it("SIGINT in a batch: nothing more is submitted, what was charged is named, and the same command resumes", async () => {
  const running = inTurn(...Array.from({ length: 4 }, () => stillRunning), completedAt("/1.png"));
  const { world, server, args, prompts, files } = await batchOf(12, { poll: running });
  const { program, end } = await startedWhen(
    world,
    () => server.requests.filter(({ method }) => method === "GET").length >= 4,
    args,
  );
  const submits = server.submits().length;
  const { run, elapsedMs } = await stopped(program, end, "SIGINT");
  expect(run.code).toBe(130);
  expect(elapsedMs).toBeLessThan(20_000);
  expect(server.submits()).toHaveLength(submits);
  expect(run.stderr).toMatch(/^12 rows: \d+ saved, \d+ charged and unfinished, \d+ not sent\./m);
  expect(run.stderr.match(/Interrupted/g)).toHaveLength(1);
  expect(run.stderr).toContain("To resume, run the same command again.\n");
  for (const prompt of promptsOf(world) ?? [])
    expect(run.stderr).toContain(`task-${prompt.replace(" ", "-")}`);
  const again = await world.run(args);
  expect(again.code, again.stderr).toBe(0);
  expect(promptsOf(world)).toEqual(prompts.toSorted());
  expect(await world.files()).toEqual(files);
});

it.skipIf(!existsSync("/dev/full"))(
  "full disk behind a batch's standard output: no more rows are begun, what is in flight is saved, and exit 8",
  async () => {
    const { world, server, args } = await batchOf(30, {
      poll: inTurn(stillRunning, stillRunning, stillRunning, completedAt("/1.png")),
    });
    const toFull = ["sh", "-c", 'exec "$@" > /dev/full', "sh"];
    const run = await world.run([...args, "--concurrency", "4"], { through: toFull });
    expect(run.code).toBe(8);
    expect(run.stderr).toContain("ENOSPC");
    const { length } = server.submits();
    expect(length).toBeLessThan(12);
    expect(await world.files()).toHaveLength(length);
    const { open, done } = await world.ledger();
    expect([open, done.length]).toEqual([[], length]);
  },
);

it("a batch whose reader has gone still saves every row", async () => {
  const { world, args, files } = await batchOf(6, {});
  const closed = ["sh", "-c", '"$@" | true', "sh"];
  const run = await world.run(args, { through: closed });
  expect(run.stderr).not.toMatch(/^\s+at /m);
  expect(await world.files()).toEqual(files);
  expect(await readFile(path.join(world.out, files[0] ?? ""))).toEqual(PICTURE);
});

/** Eight pictures that are all unlike, each at its task's own URL. */
function eightPictures(): ServiceScript {
  return {
    poll: async (request, socket) => {
      const task = new URL(request.target, "http://service").searchParams.get("taskId") ?? "";
      await completedAt(`/${task}.png`)(request, socket);
    },
    file: (request, socket) => {
      const width = 64 + Number(/(\d+)\.png$/.exec(request.target)?.[1] ?? 0);
      socket.write(response(200, buildPng(width, 48)));
    },
  };
}

async function picturesOf(world: ProgramWorld): Promise<string[]> {
  return (await readdir(world.out)).filter((name) => !name.startsWith(".")).toSorted();
}

/** How many pictures there are, each counted once. */
async function picturesIn(world: ProgramWorld): Promise<number> {
  const names = await picturesOf(world);
  const bytes = await Promise.all(names.map((name) => readFile(path.join(world.out, name), "hex")));
  return new Set(bytes).size;
}

const ONE_NAME = ["--name", "fox", "--concurrency", "8", "--json"];

it.each(["EPERM", "EISDIR"])(
  "without hard links (%s) eight rows that want one name are eight files",
  async (code) => {
    const { world, args } = await batchOf(8, eightPictures());
    const env = failingDisk({ operation: "link", code, match: world.out });
    const run = await world.run([...args, ...ONE_NAME], { env });
    expect(run.code, run.stderr).toBe(0);
    expect(await picturesIn(world)).toBe(8);
    expect(await picturesOf(world)).toEqual(
      ["fox.png", ...[2, 3, 4, 5, 6, 7, 8].map((number) => `fox-${number}.png`)].toSorted(),
    );
  },
);

it("--overwrite replaces what was there before the batch, and none of the batch's own images", async () => {
  const { world, args, prompts } = await batchOf(8, eightPictures());
  await writeFile(path.join(world.out, "fox.png"), "mine");
  const some = await world.manifest(prompts.slice(0, 4), "some.txt");
  const overwriting = [...ONE_NAME, "--overwrite"];
  const first = await world.run(["batch", some, ...args.slice(2), ...overwriting]);
  expect(first.code, first.stderr).toBe(0);
  expect(await picturesIn(world)).toBe(4);
  // The first four rows are in this manifest no more: their images are still the batch's.
  await world.manifest(prompts.slice(4));
  const second = await world.run([...args, ...overwriting]);
  expect(second.code, second.stderr).toBe(0);
  expect(await picturesIn(world)).toBe(8);
  expect(await world.files()).not.toContain("fox.png (no image)");
});

it("--overwrite in two processes on one batch: neither replaces the other's images", async () => {
  const { world, args } = await batchOf(24, { ...eightPictures(), submit: late(20, accepts) });
  const overwriting = [...args, ...ONE_NAME, "--overwrite"];
  const runs = await Promise.all([world.run(overwriting), world.run(overwriting)]);
  for (const run of runs) expect(run.code, run.stderr).toBe(0);
  expect(await picturesIn(world)).toBe(24);
});

it("a second SIGINT in a batch --json: the summary line is the last, it counts every row, and exit 130 at once", async () => {
  const { world, server, args } = await batchOf(8, {
    submit: (request, socket) => (server.submits().length <= 2 ? accepts : silence)(request, socket),
  });
  const { program, end } = await startedWhen(world, () => server.submits().length >= 5, [
    ...args,
    ...words("-m gamma-image-2 --json --concurrency 3"),
  ]);
  program.kill("SIGINT");
  await pause(300);
  const secondMs = performance.now();
  program.kill("SIGINT");
  const run = await end;
  expect(performance.now() - secondMs).toBeLessThan(20_000);
  expect(run.code).toBe(130);
  const lines = jsonLines(run.stdout);
  const summary = lines.at(-1) as Record<string, unknown>;
  expect(summary).toMatchObject({ type: "summary", rows: 8, saved: 2, unknown: 3, notSent: 3, failed: 3 });
  // What was submitted may have been charged, as where its outcome is told.
  expect(summary.credits).toBe(10);
  expect(lines).toHaveLength(3);
});
