import { readdir, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { ownedName, removeAbandoned } from "../../../src/core/images/owned-name.ts";
import { identity, someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const KIND = { prefix: ".imggen-x-1-", extension: ".part" };
const DAY_MS = 24 * 3600 * 1000;

/** What is left of these files where process 1 clears up, and process 2 is alive. */
async function leftOf(names: string[], ageMs = 0): Promise<string[]> {
  const folder = await temporaryFolder();
  const now = Date.now();
  for (const name of names) {
    await writeFile(path.join(folder, name), "");
    await utimes(path.join(folder, name), (now - ageMs) / 1000, (now - ageMs) / 1000);
  }
  await removeAbandoned(folder, KIND, someProcesses(1, 2).as(1), now);
  return readdir(folder);
}

it("no two names are the same", () => {
  const self = identity(1);
  expect(ownedName(KIND, self)).not.toBe(ownedName(KIND, self));
});

it("a file whose owner has ended is removed", async () => {
  expect(await leftOf([ownedName(KIND, identity(3))])).toEqual([]);
});

it("a file whose owner is alive stays, however old it is", async () => {
  const names = [ownedName(KIND, identity(2))];
  expect(await leftOf(names, 2 * DAY_MS)).toEqual(names);
});

it.each([
  ["of another machine", ownedName(KIND, identity(3, "elsewhere"))],
  ["of another container", ownedName(KIND, { ...identity(3), scope: "boot pid:[2]" })],
  ["that names no owner", `${KIND.prefix}0123abcd${KIND.extension}`],
])("a file %s stays for a day: nobody here can tell whether its owner is alive", async (_what, name) => {
  expect(await leftOf([name], DAY_MS - 60_000)).toEqual([name]);
  expect(await leftOf([name], DAY_MS + 60_000)).toEqual([]);
});

it("files of other kinds stay", async () => {
  const names = [
    ownedName({ ...KIND, prefix: ".imggen-x-2-" }, identity(3)),
    ownedName({ ...KIND, extension: ".probe" }, identity(3)),
    "fox.png",
  ];
  expect(await leftOf(names)).toEqual(names.toSorted());
});

it("a folder that cannot be read is left as it is", async () => {
  const folder = path.join(await temporaryFolder(), "gone");
  await removeAbandoned(folder, KIND, someProcesses(1).as(1), Date.now());
});
