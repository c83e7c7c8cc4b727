import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { accepts, jsonLines } from "../support/batch-world.ts";
import { type Aftermath, SAVED, serviceWorld } from "../support/program-world.ts";
import { response } from "../support/scripted-server.ts";
import { inTurn, replies } from "../support/scripts.ts";
import { killed, startedWhen, stopped } from "../support/started.ts";

/** Asks to wait for so long. */
const busyFor = (seconds: number) => replies(response(429, "", { "retry-after": `${seconds}` }));

/** Whether a request was turned away, and is on record as one that waits. */
const waitsOut =
  ({ world, server }: Awaited<ReturnType<typeof serviceWorld>>) =>
  async () =>
    server.submits().length > 0 && (await world.ledger()).open[0] === "waiting";

const NOT_SENT: Aftermath = { ...SAVED, exit: 0, type: null, charged: null, files: [], done: ["not_sent"] };

it("SIGINT while a 429 is waited out: nothing was charged, exit 130, and the ledger says that it was not sent", async () => {
  const { server, world } = await serviceWorld({ submit: busyFor(60) });
  const { program, end } = await startedWhen(world, waitsOut({ world, server }));
  const { run, elapsedMs } = await stopped(program, end, "SIGINT");
  expect(await world.aftermath(run)).toEqual({ ...NOT_SENT, exit: 130, type: "interrupted", charged: "no" });
  expect(elapsedMs).toBeLessThan(20_000);
});

it("SIGKILL while a 429 is waited out: nothing is unknown, resume closes the request, and history is empty", async () => {
  const { server, world } = await serviceWorld({ submit: busyFor(60) });
  await killed(await startedWhen(world, waitsOut({ world, server })));
  const history = await world.run(["history", "--json"]);
  expect(JSON.parse(history.stdout)).toEqual([]);
  expect(await world.afterResume()).toEqual(NOT_SENT);
  expect(await readdir(path.join(world.home, "state/tasks/open"))).toEqual([]);
});

it("SIGKILL while a batch waits out a 429: the same command submits the row", async () => {
  const { server, world } = await serviceWorld({ submit: inTurn(busyFor(60), accepts) });
  const batch = ["batch", await world.manifest(["a fox"]), "-m", "gamma-image-2", "--json"];
  const args = [...batch, "--poll-interval", "100ms", "--max-credits", "2"];
  await killed(await startedWhen(world, waitsOut({ world, server }), args));
  const run = await world.run(args);
  expect(run.code, run.stderr).toBe(0);
  expect(run.stderr).toContain("1 to submit: 2 credits");
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
  expect(server.submits()).toHaveLength(2);
});

it("a batch beside one that waits out a 429: the row is submitted by neither twice, and both end well", async () => {
  const { server, world } = await serviceWorld({ submit: inTurn(busyFor(2), accepts) });
  const batch = ["batch", await world.manifest(["a fox"]), "-m", "gamma-image-2", "--json"];
  const args = [...batch, "--poll-interval", "100ms", "--yes"];
  const first = await startedWhen(world, waitsOut({ world, server }), args);
  const runs = await Promise.all([world.run(args), first.end]);
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(runs.map(({ stdout }) => jsonLines(stdout).at(-1)?.saved)).toEqual([0, 1]);
  expect(server.submits()).toHaveLength(2);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
});

it("a request that waits to be submitted again holds none of dailyCredits, and is not submitted once another has them", async () => {
  const { server, world } = await serviceWorld({ submit: inTurn(busyFor(5), accepts) });
  await world.run(["config", "set", "dailyCredits", "2"]);
  const flags = ["-m", "gamma-image-2"];
  const first = await startedWhen(world, waitsOut({ world, server }), world.generateArgs(flags));
  expect(await world.generate(flags)).toMatchObject({ code: 0 });
  expect(await world.aftermath(await first.end)).toMatchObject({ exit: 2, charged: "no" });
  expect(server.submits()).toHaveLength(2);
});

it("the same request beside one that waits out a 429: --reuse spends nothing, and without it another is submitted", async () => {
  const { server, world } = await serviceWorld({ submit: inTurn(busyFor(60), accepts) });
  const started = await startedWhen(world, waitsOut({ world, server }));
  const reused = await world.generate(["--reuse", "--timeout", "1s"]);
  expect(reused.code).toBe(6);
  expect(JSON.parse(reused.stdout)).toMatchObject({ charged: "no", error: { type: "pending" } });
  expect(server.submits()).toHaveLength(1);
  expect((await world.generate()).code).toBe(0);
  expect(server.submits()).toHaveLength(2);
  await killed(started);
});
