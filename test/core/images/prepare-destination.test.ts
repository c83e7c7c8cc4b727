import { readdir, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { sweepTemporaryFiles, temporaryName } from "../../../src/core/images/prepare-destination.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const TASK = "20260131T120000000-0123abcd";
const OTHER = "20260131T120000000-4567abcd";
const DAY_MS = 24 * 3600 * 1000;

/** What is left of files of this age after the holder of `TASK` has swept. */
async function leftOf(names: string[], ageMs = 0): Promise<string[]> {
  const folder = await temporaryFolder();
  const now = Date.now();
  for (const name of names) {
    await writeFile(path.join(folder, name), "");
    await utimes(path.join(folder, name), (now - ageMs) / 1000, (now - ageMs) / 1000);
  }
  await sweepTemporaryFiles(folder, TASK, now);
  return readdir(folder);
}

it("no two names are the same", () => {
  expect(temporaryName(TASK)).toMatch(/^\.20260131T120000000-0123abcd\.[0-9a-f]{8}$/);
  expect(temporaryName(TASK)).not.toBe(temporaryName(TASK));
});

it("a draft of a task is removed by the holder of the task, however new it is", async () => {
  expect(await leftOf([temporaryName(TASK), temporaryName(TASK)])).toEqual([]);
});

it.each([
  ["of another task", temporaryName(OTHER)],
  ["of a process that does not hold its task", temporaryName(null)],
])("a draft %s stays for a day: its process may be at work on another machine", async (_what, name) => {
  expect(await leftOf([name], DAY_MS - 60_000)).toEqual([name]);
  expect(await leftOf([name], DAY_MS + 60_000)).toEqual([]);
});

it("files that are no drafts of images stay, however old they are", async () => {
  const names = [".a-fox.01234567", ".imggen-batch", `.${TASK}.jsonl.01234567`, `.${TASK}.notes`, "fox.png"];
  expect(await leftOf(names, 2 * DAY_MS)).toEqual(names.toSorted());
});

it("a folder that cannot be read is left as it is", async () => {
  const folder = path.join(await temporaryFolder(), "gone");
  await sweepTemporaryFiles(folder, TASK, Date.now());
});
