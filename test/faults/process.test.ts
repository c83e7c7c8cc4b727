import { platform } from "node:os";
import { expect, it } from "vitest";
import { plantTasks } from "../support/many-tasks.ts";
import { finished } from "../support/program.ts";
import { programWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import type { Behaviour } from "../support/scripted-server.ts";
import { completedAt, inTurn, late, stillRunning } from "../support/scripts.ts";
import { QUICK } from "../support/shell.ts";
import { startedUntil, stopped } from "../support/started.ts";
import { pause } from "../support/wait.ts";
import { words } from "../support/words.ts";

const ONTO_FULL_DISK = { through: ["sh", "-c", 'exec "$@" >/dev/full', "sh"] };

it("SIGINT while waiting, without --json: the id and the next command are on standard error within 100 ms", async () => {
  const { server, world } = await serviceWorld({ poll: stillRunning });
  const { program, end } = await startedUntil(world, server, 2, [
    "generate",
    "a fox",
    ...QUICK,
    "-o",
    `${world.out}/`,
  ]);
  const told = new Promise<number>((resolve) => {
    program.stderr?.on("data", (chunk: Buffer) => {
      if (chunk.includes("imggen resume task-1")) resolve(performance.now());
    });
  });
  const sent = performance.now();
  program.kill("SIGINT");
  // 100 ms is the promise; the rest is for a machine that is busy with other tests.
  expect((await told) - sent).toBeLessThan(100 + 9_900);
  expect(await world.aftermath(await end)).toMatchObject({ exit: 130, open: ["accepted"] });
});

it("SIGINT during resume leaves the task to the next one", async () => {
  const { server, world } = await serviceWorld({ poll: inTurn(stillRunning, completedAt("/1.png")) });
  await world.generate(["--no-wait"]);
  const { program, end } = await startedUntil(world, server, 2, words("resume --json --poll-interval 10s"));
  await pause(100);
  const { run } = await stopped(program, end, "SIGINT");
  expect(await world.aftermath(run)).toMatchObject({ exit: 130, open: ["accepted"] });
  expect(await world.afterResume(["task-1"])).toEqual(SAVED);
});

it("a pipe on standard output that is closed: no stack trace, and the charged image is saved", async () => {
  const { world } = await serviceWorld({ poll: late(300, completedAt("/1.png")) });
  for (const json of [["--json"], []]) {
    const program = world.start([
      ...words(`generate "a fox" --poll-interval 100ms -o ${world.out}/`),
      ...json,
    ]);
    program.stdout?.destroy();
    const run = await finished(program);
    expect(run.stderr).not.toMatch(/EPIPE|Error:|at .*:\d+/);
    expect(run.code).toBe(0);
  }
  expect(await world.files()).toHaveLength(2);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved", "saved"] });
});

it("standard output that was never open: the charged image is saved", async () => {
  const { world } = await serviceWorld();
  expect(await world.afterGenerate([], { through: ["sh", "-c", 'exec "$@" >&-', "sh"] })).toMatchObject({
    files: ["a-fox-task1.png"],
    done: ["saved"],
  });
});

it.each([[["--json"]], [[]]])(
  "a full disk behind standard output (%j): not exit 0, and the charged image is saved",
  async (json) => {
    const { world } = await serviceWorld();
    const args = ["generate", "a fox", ...QUICK, ...json, "-o", `${world.out}/`];
    const run = await world.run(args, ONTO_FULL_DISK);
    expect(run.code).not.toBe(0);
    expect(await world.aftermath(run)).toMatchObject({
      files: ["a-fox-task1.png"],
      open: [],
      done: ["saved"],
    });
  },
);

it("a full disk behind the standard output of resume: the tasks that are still running are saved before it ends", async () => {
  const poll: Behaviour = (request, socket) => {
    const earlier = server.requests.filter(({ target }) => target === request.target).length - 1;
    const isDone = request.target.includes("task-2") || earlier === 3;
    return (isDone ? completedAt("/1.png") : stillRunning)(request, socket);
  };
  const { server, world } = await serviceWorld({ poll });
  plantTasks(world, 3);
  const args = ["resume", "--poll-interval", "100ms"];
  const run = await world.run(args, ONTO_FULL_DISK);
  expect(run.code).toBe(8);
  expect(run.stderr).toContain("ENOSPC");
  expect(await world.ledger()).toEqual({ open: [], done: ["saved", "saved", "saved"] });
});

it("a full disk behind `-o -`: not exit 0, and resume saves the image elsewhere", async () => {
  const { world } = await serviceWorld();
  const args = ["generate", "a fox", ...QUICK, "-o", "-"];
  const run = await world.run(args, ONTO_FULL_DISK);
  expect(await world.aftermath(run)).toMatchObject({ exit: 8, files: [], open: ["completed"] });
  expect(await world.afterResume(["task-1", "-o", `${world.out}/`])).toEqual(SAVED);
});

it.each([["--version"], ["models"]])("imggen %s onto a full disk does not exit 0", async (...args) => {
  const world = await programWorld(null);
  const run = await world.run([...args, "--json"], ONTO_FULL_DISK);
  expect(run.code).not.toBe(0);
});

const NARROW = { through: ["sh", "-c", 'ulimit -v 2097152; exec "$@"', "sh"] };

it.skipIf(platform() === "win32").each([
  ["Node without WebAssembly", { env: { NODE_OPTIONS: "--jitless" } }],
  ["too little address space for WebAssembly", NARROW],
])("%s: the charged image is polled for and saved all the same", async (_what, options) => {
  const { world } = await serviceWorld({ poll: inTurn(stillRunning, completedAt("/1.png")) });
  expect(await world.afterGenerate([], options)).toEqual(SAVED);
});
