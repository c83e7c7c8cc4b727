import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { answers, type Part } from "../support/doubles/double.ts";
import { EXAMPLE, installExample } from "../support/doubles/example.ts";
import { paidWorld } from "../support/paid-world.ts";
import type { Behaviour } from "../support/scripted-server.ts";
import { silence } from "../support/scripts.ts";
import { killed, startedWhen } from "../support/started.ts";

/** A package that is installed, and its removal. */
async function packageWorld(script: Partial<Record<Part, Behaviour>>) {
  const made = await paidWorld(EXAMPLE, script);
  const { world, env } = made;
  const config = path.join(world.home, "config");
  await installExample(config);
  const run = async (...args: string[]) => {
    const result = await world.run(args, { env });
    const { exit, open } = await world.aftermath(result);
    const json = JSON.parse(result.stdout);
    return { exit, open, task: json.tasks?.[0] ?? json };
  };
  return {
    ...made,
    run,
    install: () => installExample(config),
    remove: () => rm(path.join(config, "providers", "node_modules"), { recursive: true }),
  };
}

/** A package whose task was accepted, and that is removed. `finish`: its image is made from now on. */
async function acceptedAndRemoved() {
  let isOver = false;
  const running = EXAMPLE.ends?.running.poll;
  const made = EXAMPLE.replies.poll;
  if (!running || !made) throw new TypeError("a package with jobs");
  const poll: Behaviour = (request, socket) => answers(isOver ? made : running)(request, socket);
  const packaged = await packageWorld({ poll });
  await packaged.world.run([...packaged.args, "--timeout", "300ms"], { env: packaged.env });
  await packaged.remove();
  return {
    ...packaged,
    finish: () => {
      isOver = true;
    },
  };
}

const OUTCOME_UNKNOWN = {
  exit: 9,
  task: { charged: "yes", error: { type: "outcome_unknown", exitCode: 9 } },
};

it("an accepted task whose package is gone: named with exit 9 by each command, it stays accepted, and the package continues it", async () => {
  const { double, run, install, finish } = await acceptedAndRemoved();
  const { open, task } = await run("resume", "--json");
  expect({ open, task }).toMatchObject({ open: ["accepted"], task: OUTCOME_UNKNOWN.task });
  expect(task.error.message).toMatch(
    /^Task \S+ cannot be continued\. The package .* is not installed .* npm install /,
  );
  expect(task.error.hint).toContain("--dismiss");
  for (const command of ["resume", "status", "cancel"])
    expect(await run(command, task.taskId, "--json")).toMatchObject({
      ...OUTCOME_UNKNOWN,
      open: ["accepted"],
    });
  await install();
  finish();
  expect(await run("resume", "--generator-paid", "--json")).toMatchObject({ exit: 0, open: [] });
  expect(double.submits()).toHaveLength(1);
});

it("the same command again, with the package gone: exit 9 names the accepted task, and the package continues it", async () => {
  const { double, args, world, env, run, install, finish } = await acceptedAndRemoved();
  const { task } = await run("resume", "--json");
  for (const flag of [[], ["--reuse"]]) {
    const again = await run(...args, ...flag);
    expect(again).toMatchObject({ ...OUTCOME_UNKNOWN, open: ["accepted"], task: { taskId: task.taskId } });
    expect(again.task.error.message).toMatch(/ cannot be continued\. The package .* is not installed /);
    expect(again.task.error.hint).toContain("--dismiss");
  }
  const shown = await world.run(
    args.filter((arg) => arg !== "--json"),
    { env },
  );
  expect({ exit: shown.code, said: shown.stdout + shown.stderr }).toMatchObject({
    exit: 9,
    said: expect.stringMatching(/is not installed .*--dismiss/s),
  });
  // Another request has no task to lose.
  for (const other of [
    ["generate", "a hen", "--json"],
    [...args, "--again"],
    [...args, "--dry-run"],
  ])
    expect(await run(...other)).toMatchObject({ exit: 2, task: { charged: "no", error: { type: "usage" } } });
  await install();
  finish();
  expect(await run(...args)).toMatchObject({
    exit: 0,
    open: [],
    task: { taskId: task.taskId, reused: true },
  });
  expect(double.submits()).toHaveLength(1);
});

it("the same command again, after its request was lost and its package is gone: exit 9, charged unknown", async () => {
  const { double, args, world, env, run, remove } = await packageWorld({ submit: silence });
  await killed(await startedWhen(world, () => double.submits().length === 1, args, { env }));
  await remove();
  const again = await run(...args);
  expect(again).toMatchObject({ exit: 9, task: { charged: "unknown", error: { type: "outcome_unknown" } } });
  expect(again.task.error.hint).toContain("--dismiss");
});

it("an accepted task whose package is gone is dismissed, and continued by its id once the package is there", async () => {
  const { double, world, run, install, finish } = await acceptedAndRemoved();
  const { task } = await run("resume", "--json");
  expect(await run("resume", task.taskId, "--dismiss", "--json")).toMatchObject({ exit: 0, open: [] });
  expect(await run("resume", "--json")).toMatchObject({ exit: 0, open: [] });
  await install();
  finish();
  expect(await run("resume", task.taskId, "--json")).toMatchObject({ exit: 0, open: [] });
  expect(await world.files()).toEqual([expect.stringMatching(/\.png$/)]);
  expect(double.submits()).toHaveLength(1);
});

it("a paid request that was lost with its process, and its package: unknown, and dismissed", async () => {
  const { double, args, world, env, run, remove } = await packageWorld({ submit: silence });
  await killed(await startedWhen(world, () => double.submits().length === 1, args, { env }));
  await remove();
  const { exit, task } = await run("resume", "--json");
  expect({ exit, task }).toMatchObject({
    exit: 9,
    task: { charged: "unknown", error: { type: "outcome_unknown" } },
  });
  expect(await run("resume", task.taskId, "--dismiss", "--json")).toMatchObject({ exit: 0, open: [] });
});

it("a free request to a kind of generator that is not known: exit 9, and it costs nothing", async () => {
  const { double, args, world, env, run } = await packageWorld({ submit: silence });
  await killed(await startedWhen(world, () => double.submits().length === 1, args, { env }));
  const folder = path.join(world.home, "state", "tasks", "open");
  const [name = ""] = await readdir(folder);
  const file = path.join(folder, name);
  const text = await readFile(file, "utf8");
  const other = text
    .replace(/"baseUrl":"npm:[^"]*"/, '"baseUrl":"warp:9"')
    .replace('"isPaid":true', '"isPaid":false');
  await writeFile(file, other);
  const { task } = await run("resume", "--json");
  for (const command of ["resume", "status"]) {
    const named = await run(command, task.taskId, "--json");
    const error = {
      type: "outcome_unknown",
      hint: expect.stringMatching(/^Nothing was charged\..*--dismiss$/s),
    };
    expect(named).toMatchObject({ exit: 9, open: ["started"], task: { charged: "no", error } });
  }
  expect(await run("resume", task.taskId, "--dismiss", "--json")).toMatchObject({ exit: 0, open: [] });
});
