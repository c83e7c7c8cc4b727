import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { WorkFolders } from "../../src/store/work-folders.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("a kept reply is copied with all that is beside it to a private folder, which outlasts its task", async () => {
  const folder = await temporaryFolder();
  const work = new WorkFolders(folder);
  await work.begin("task", 1, "1.0");
  mkdirSync(path.join(work.attemptFolder("task", 1, "1.0"), "parts"));
  writeFileSync(path.join(work.attemptFolder("task", 1, "1.0"), "reply"), "the reply");
  writeFileSync(path.join(work.attemptFolder("task", 1, "1.0"), "parts", "b.png"), "an image");
  const kept = await work.keep("task", 1, "1.0");
  // A crash between the copy and the task's end is followed by the same copy again.
  expect(await work.keep("task", 1, "1.0")).toBe(kept);
  work.remove("task");
  expect(kept).toBe(path.join(folder, "kept", "task-1"));
  expect(statSync(path.dirname(kept)).mode & 0o777).toBe(0o700);
  expect(readFileSync(path.join(kept, "reply"), "utf8")).toBe("the reply");
  expect(readFileSync(path.join(kept, "parts", "b.png"), "utf8")).toBe("an image");
});

it("a folder for a job that the ledger lacks is removed a day after its process was killed, and what is of no known task stays", async () => {
  const work = new WorkFolders(await temporaryFolder());
  const [old, recent] = [work.scratch(), work.scratch()];
  const unlisted = path.join(work.folder, "20261128T181321047-e27a4b50");
  for (const each of [old, recent, unlisted]) mkdirSync(each, { recursive: true });
  const nowMs = Date.now();
  const longAgo = new Date(nowMs - 25 * 3_600_000);
  for (const each of [old, unlisted]) utimesSync(each, longAgo, longAgo);
  await work.sweep(async () => false, nowMs);
  expect([old, recent, unlisted].map((each) => existsSync(each))).toEqual([false, true, true]);
});

it("what is kept of a request can be asked for while another process removes a file of it", async () => {
  const work = new WorkFolders(await temporaryFolder());
  await work.begin("task", 0, "1.0");
  // Listed, and not there any more.
  symlinkSync("gone", path.join(work.attemptFolder("task", 0, "1.0"), "reply"));
  expect([work.hasReply("task", 0, "1.0"), work.hasTrace("task", 0, "1.0")]).toEqual([false, false]);
});
