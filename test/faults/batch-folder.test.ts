import { cp, mkdir, rename, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { accepts, foxes, imagesIn, jsonLines } from "../support/batch-world.ts";
import { serviceWorld } from "../support/program-world.ts";

/** A batch of three rows that is saved, and the same command again, into a folder of any name. */
async function savedBatch() {
  const { server, world } = await serviceWorld({ submit: accepts });
  const manifest = await world.manifest(["a fox", "a hen", "an owl"]);
  const at = (name: string) => path.join(world.folder, name);
  const batch = async (name: string, flags: readonly string[] = [], home = world.home) => {
    const quick = ["-m", "gamma-image-2", "--poll-interval", "100ms", "--json"];
    const args = ["batch", manifest, ...quick, "--output", at(name), ...flags];
    const run = await world.run(args, { env: { IMGGEN_HOME: home } });
    return { ...run, last: jsonLines(run.stdout).at(-1) };
  };
  expect((await batch("pictures")).code).toBe(0);
  return { server, world, at, batch, requests: server.requests.length };
}

it("a batch whose folder was moved behind a link, and renamed, submits nothing again", async () => {
  const { server, at, batch, requests } = await savedBatch();
  await mkdir(at("disk"));
  await rename(at("pictures"), at("disk/pictures"));
  await symlink("disk/pictures", at("pictures"));
  expect((await batch("pictures")).last).toMatchObject({ skipped: 3, credits: 0 });
  await rename(at("disk/pictures"), at("disk/renamed"));
  const { code, last } = await batch("disk/renamed");
  expect([code, last?.skipped]).toEqual([0, 3]);
  expect(server.requests).toHaveLength(requests);
});

it("a copy of a batch's folder is the same batch: nothing is submitted or downloaded again", async () => {
  const { server, at, batch, requests } = await savedBatch();
  await cp(at("pictures"), at("copy"), { recursive: true });
  const { code, last } = await batch("copy");
  expect([code, last?.skipped]).toEqual([0, 3]);
  expect(server.requests).toHaveLength(requests);
  expect(await imagesIn(at("copy"))).toEqual(await imagesIn(at("pictures")));
});

it("a batch's folder that another home has filled: nothing is submitted without --yes", async () => {
  const { server, at, batch } = await savedBatch();
  for (const flags of [[], ["--max-credits", "100"]]) {
    const { code, last } = await batch("pictures", flags, at("other-home"));
    expect([code, last?.charged]).toEqual([2, "no"]);
    expect(last?.error).toMatchObject({
      type: "usage",
      message: expect.stringMatching(/Possibly 3 rows/),
    });
  }
  expect(server.submits()).toHaveLength(3);
  expect((await batch("pictures", ["--shard", "1/2"], at("third-home"))).code).toBe(0);
  expect((await batch("pictures", ["--yes"], at("other-home"))).code).toBe(0);
  expect((await batch("pictures", [], at("other-home"))).code).toBe(0);
});

it("a folder that was begun with --shard: a run without it submits nothing of other homes' shards without --yes", async () => {
  const { server, world } = await serviceWorld({ submit: accepts });
  const manifest = await world.manifest(foxes(8));
  const batch = async (home: string, ...flags: string[]) => {
    const args = ["batch", manifest, "--output", world.out, "--poll-interval", "100ms", "--json", ...flags];
    return world.run(args, { env: { IMGGEN_HOME: path.join(world.folder, home) } });
  };
  for (const index of [1, 2, 3]) {
    const { code, stderr } = await batch(index === 3 ? "other" : "home", "--shard", `${index}/3`);
    expect([code, stderr.includes("another machine")]).toEqual([0, index === 3]);
  }
  expect(server.submits()).toHaveLength(8);
  for (const home of ["home", "other"]) {
    const { code, stdout } = await batch(home);
    expect([code, jsonLines(stdout)[0]?.charged]).toEqual([2, "no"]);
  }
  expect(server.submits()).toHaveLength(8);
  expect((await batch("home", "--yes")).code).toBe(0);
  expect((await batch("home")).code).toBe(0);
});

it("finished tasks removed from the ledger: no row of the batch is new, and nothing is submitted again", async () => {
  const { server, world, batch, requests } = await savedBatch();
  await rm(path.join(world.home, "state/tasks/done"), { recursive: true });
  const { code, last } = await batch("pictures");
  expect([code, last?.skipped]).toEqual([0, 3]);
  expect(server.requests).toHaveLength(requests);
});
