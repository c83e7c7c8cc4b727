import { chmodSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { enableCompileCache } from "../../../src/cli/app/compile-cache.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

interface World {
  state: string;
  cache: string;
}

const userId = process.geteuid?.() ?? 0;

async function world(): Promise<World> {
  const state = path.join(await temporaryFolder(), "state");
  mkdirSync(state, { mode: 0o700 });
  return { state, cache: path.join(state, "compile-cache") };
}

/** Whatever the umask. */
function makeFolder(folder: string, mode: number): void {
  mkdirSync(folder);
  chmodSync(folder, mode);
}

/** The folders that Node is told to use. */
function enabled(
  { state }: World,
  options: { userId?: number | undefined; env?: Record<string, string> } = {},
) {
  const folders: string[] = [];
  const enable = (folder: string) => folders.push(folder);
  enableCompileCache({ stateFolder: () => state, env: {}, userId, enable, ...options });
  return folders;
}

it("the folder is made below the state folder, for its owner alone, and used again", async () => {
  const used = await world();
  expect(enabled(used)).toEqual([used.cache]);
  expect(lstatSync(used.cache).mode & 0o777).toBe(0o700);
  expect(enabled(used)).toEqual([used.cache]);
});

it("without a state folder nothing is made and nothing used", async () => {
  const { state } = await world();
  const missing = path.join(state, "missing");
  expect(enabled({ state: missing, cache: path.join(missing, "compile-cache") })).toEqual([]);
  expect(() => lstatSync(missing)).toThrow("ENOENT");
});

it.each<[string, (world: World) => void]>([
  ["a mode that lets others write", ({ cache }) => makeFolder(cache, 0o770)],
  ["a mode that lets others read", ({ cache }) => makeFolder(cache, 0o704)],
  ["a link in its place", ({ state, cache }) => symlinkSync(state, cache)],
  ["a file in its place", ({ cache }) => writeFileSync(cache, "")],
  ["a state folder that others can write to", ({ state }) => chmodSync(state, 0o720)],
  ["a home that all can write to", ({ state }) => chmodSync(path.dirname(state), 0o777)],
])("%s: nothing is used", async (_what, spoil) => {
  const used = await world();
  spoil(used);
  expect(enabled(used)).toEqual([]);
});

it("a home that all can write to is used where users cannot rename the folders of others", async () => {
  const used = await world();
  chmodSync(path.dirname(used.state), 0o1777);
  expect(enabled(used)).toEqual([used.cache]);
});

it("a folder of another user is not used, and none at all where the system has no users", async () => {
  const used = await world();
  mkdirSync(used.cache, { mode: 0o700 });
  expect(enabled(used, { userId: userId + 1 })).toEqual([]);
  expect(enabled(used, { userId: undefined })).toEqual([]);
});

it("a home that is not known is no failure", () => {
  const stateFolder = () => {
    throw new Error("no home");
  };
  const enable = () => {
    throw new Error("not reached");
  };
  expect(() => enableCompileCache({ stateFolder, env: {}, userId, enable })).not.toThrow();
});

it.each(["NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE"])("%s is left to Node", async (name) => {
  const used = await world();
  expect(enabled(used, { env: { [name]: "1" } })).toEqual([]);
  expect(() => lstatSync(used.cache)).toThrow("ENOENT");
});
