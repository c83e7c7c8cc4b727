import { readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { accepts, byPrompt, foxes, jsonLines } from "../support/batch-world.ts";
import { serviceWorld } from "../support/program-world.ts";
import type { ServiceScript } from "../support/scripted-server.ts";
import { completedAt, inTurn, late, reset } from "../support/scripts.ts";
import { pause } from "../support/wait.ts";

async function batchWorldOf(script: ServiceScript = {}) {
  const { server, world } = await serviceWorld({ submit: accepts, ...script });
  const file = path.join(world.folder, "p.txt");
  const manifest = (...prompts: string[]) => world.manifest(prompts);
  const batch = async (model: string, ...flags: string[]) => {
    const quick = ["--poll-interval", "100ms", "--json"];
    const run = await world.run(["batch", file, "-m", model, ...quick, ...flags]);
    return { ...run, last: jsonLines(run.stdout).at(-1) };
  };
  return { server, world, manifest, batch };
}

it("costs that are not documented count in confirmAbove: a batch of them needs --yes", async () => {
  const { server, world, manifest, batch } = await batchWorldOf();
  await world.run(["config", "set", "confirmAbove", "0"]);
  await manifest(...foxes(5));
  const { code, last } = await batch("vendor1/alpha-2");
  expect([code, last?.charged]).toEqual([2, "no"]);
  expect(last?.error).toMatchObject({
    type: "budget_exceeded",
    message: expect.stringContaining("40 credits"),
  });
  expect(server.requests).toEqual([]);
  expect((await batch("vendor1/alpha-2", "--yes")).code).toBe(0);
});

it("--max-credits counts rows that were edited out of the manifest", async () => {
  const { server, manifest, batch } = await batchWorldOf();
  await manifest(...foxes(3));
  expect((await batch("gamma-image-2", "--max-credits", "6")).code).toBe(0);
  await manifest("a hen");
  const { code, last } = await batch("gamma-image-2", "--max-credits", "6");
  expect([code, last?.charged]).toEqual([2, "no"]);
  expect(last?.error).toMatchObject({ type: "budget_exceeded" });
  expect(server.submits()).toHaveLength(3);
});

it("--max-credits holds for two manifests that are run into one folder at once", async () => {
  const { server, world, batch } = await batchWorldOf({
    // Each is within the budget when it is planned: the other has claimed one row at most.
    submit: async (request, socket) => {
      while (server.submits().length < 2) await pause(10);
      await accepts(request, socket);
    },
  });
  await world.manifest(foxes(4));
  const other = await world.manifest(["hen 1", "hen 2", "hen 3", "hen 4"], "q.txt");
  const flags = ["--max-credits", "10", "--concurrency", "1"];
  const model = ["-m", "gamma-image-2", "--poll-interval", "100ms", "--json"];
  const [one, two] = await Promise.all([
    batch("gamma-image-2", ...flags),
    world.run(["batch", other, ...model, ...flags]),
  ]);
  expect(server.submits().length).toBeLessThanOrEqual(5);
  expect([one.code, two.code]).toContain(10);
  expect(one.stdout + two.stdout).toContain("another process submits other rows into the same folder");
});

it("--resubmit-unknown in several processes submits each row of unknown outcome once more, not what is lost then", async () => {
  const slowly = late(4_000, reset);
  const { server, manifest, batch } = await batchWorldOf({
    // Once all of them have planned.
    submit: (request, socket) => (server.submits().length <= 2 ? reset : slowly)(request, socket),
  });
  await manifest(...foxes(2));
  await batch("gamma-image-2");
  expect(server.submits()).toHaveLength(2);
  const runs = await Promise.all([1, 2, 3].map(() => batch("gamma-image-2", "--resubmit-unknown")));
  expect(runs.map(({ code }) => code)).toEqual([10, 10, 10]);
  expect(server.submits()).toHaveLength(4);
});

it("two processes whose rows end as unknown do not wait for each other", async () => {
  const { server, manifest, batch } = await batchWorldOf({ submit: late(100, reset) });
  await manifest(...foxes(8));
  const startMs = performance.now();
  const runs = await Promise.all([1, 2].map(() => batch("gamma-image-2", "--concurrency", "2")));
  expect(performance.now() - startMs).toBeLessThan(40_000);
  for (const { code, last } of runs) {
    expect(code).toBe(10);
    expect(Number(last?.pending)).toBe(0);
  }
  expect(new Set(server.submits().map(({ body }) => body)).size).toBe(server.submits().length);
});

it.each(["", '{"type":"intent",'])(
  "a torn claim %j leaves its row unknown, and --resubmit-unknown frees it",
  async (torn) => {
    const { server, world, manifest, batch } = await batchWorldOf({
      submit: byPrompt({ "fox 1": inTurn(reset, accepts) }),
      poll: completedAt("/1.png"),
    });
    await manifest(...foxes(2));
    await batch("gamma-image-2");
    const batches = path.join(world.home, "state/tasks/batches");
    const names = (await readdir(batches, { recursive: true })).filter((name) => name.endsWith(".1"));
    expect(names).toHaveLength(2);
    for (const name of names) {
      await rm(path.join(batches, name));
      await writeFile(path.join(batches, name), torn);
    }
    const left = await batch("gamma-image-2");
    expect([left.code, left.last?.unknown]).toEqual([10, 2]);
    expect(left.stderr).toContain("has the same request");
    expect(server.submits()).toHaveLength(2);
    expect((await batch("gamma-image-2", "--resubmit-unknown")).code).toBe(0);
    expect(server.submits()).toHaveLength(4);
    expect((await batch("gamma-image-2", "--resubmit-unknown")).last).toMatchObject({ skipped: 2 });
  },
);
