import { chmod, chown, mkdir, readdir, rename, stat, symlink } from "node:fs/promises";
import module from "node:module";
import path from "node:path";
import { expect, it } from "vitest";
import { programWorld } from "../support/program-world.ts";

const ANOTHER_USER = 54_321;
const isRoot = process.geteuid?.() === 0;
const nodeHasCache = "enableCompileCache" in module;

/** A home that has been used before, and a temporary folder in which others may write, as in /tmp. */
async function usedHome() {
  const world = await programWorld(null);
  const temporary = path.join(world.folder, "tmp");
  await mkdir(temporary);
  await chmod(temporary, 0o1777);
  const state = path.join(world.home, "state");
  await mkdir(state, { mode: 0o700, recursive: true });
  return { world, temporary, state, cache: path.join(state, "compile-cache") };
}

it("a compile cache that another user made in the temporary folder is not used", async () => {
  const { world, temporary } = await usedHome();
  const planted = path.join(temporary, "node-compile-cache");
  await mkdir(planted);
  await chmod(planted, 0o777);
  if (isRoot) await chown(planted, ANOTHER_USER, ANOTHER_USER);
  for (const args of [["models"], ["--help"], ["generate", "a fox", "-m", "z-image", "--dry-run"]])
    expect((await world.run(args, { env: { TMPDIR: temporary } })).code).toBe(0);
  expect(await readdir(planted)).toEqual([]);
  expect(await readdir(temporary)).toEqual(["node-compile-cache"]);
});

type Place = Awaited<ReturnType<typeof usedHome>>;

it.each<[string, (place: Place) => Promise<unknown>]>([
  ["folder that others can write to", ({ cache }) => chmod(cache, 0o777)],
  [
    "folder that is a link",
    async ({ cache }) => {
      await rename(cache, `${cache}-elsewhere`);
      await symlink(`${cache}-elsewhere`, cache);
    },
  ],
  [
    "in a home that all can write to, who could put their own in its place,",
    ({ world }) => chmod(world.home, 0o777),
  ],
  ["below a folder that all can write to", ({ world }) => chmod(world.folder, 0o777)],
])("a compile cache %s is not used", async (_what, spoil) => {
  const place = await usedHome();
  await mkdir(place.cache, { mode: 0o700 });
  await spoil(place);
  expect((await place.world.run(["models"])).code).toBe(0);
  expect(await readdir(place.cache)).toEqual([]);
});

it.skipIf(!nodeHasCache)("compiled code is kept in the state folder, for its owner alone", async () => {
  const { world, cache } = await usedHome();
  expect((await world.run(["models"])).code).toBe(0);
  expect((await stat(cache)).mode & 0o777).toBe(0o700);
  expect(await readdir(cache)).not.toEqual([]);
});

it("no compile cache is made in a home that was never used", async () => {
  const world = await programWorld(null);
  for (const args of [["--version"], ["--help"], ["models"]]) expect((await world.run(args)).code).toBe(0);
  expect(await readdir(world.home)).toEqual([]);
});

it.skipIf(!nodeHasCache)("NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE are the user's", async () => {
  const { world, cache, temporary } = await usedHome();
  expect((await world.run(["models"], { env: { NODE_DISABLE_COMPILE_CACHE: "1" } })).code).toBe(0);
  expect((await world.run(["models"], { env: { NODE_COMPILE_CACHE: temporary } })).code).toBe(0);
  expect(await readdir(temporary)).not.toEqual([]);
  await expect(stat(cache)).rejects.toThrow("ENOENT");
});
