import { execFileSync } from "node:child_process";
import type { Stats } from "node:fs";
import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import type { ProgramResult } from "../support/program.ts";
import { PENDING, type ProgramWorld, SAVED, serviceWorld } from "../support/program-world.ts";
import { LINES, linesOf } from "../support/records.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

const ID = "20260131T120000000-0123abcd";
const INTENT = linesOf(LINES.intent);

/** What a ledger's folder may hold that is no task to read: name, content, words that say what it is. */
const ODD: [what: string, name: string, content: string | Buffer, words: RegExp][] = [
  ["a task file that is not JSON", `${ID}.jsonl`, "no JSON\n", /is damaged/],
  [
    "a task file of binary zeros, as a power cut leaves them",
    `${ID}.jsonl`,
    `${"\0".repeat(300)}\n`,
    /is damaged/,
  ],
  [
    "a task file whose first line is cut short",
    `${ID}.jsonl`,
    `${INTENT.slice(0, 99)}\n${INTENT}`,
    /is damaged/,
  ],
  ["a task file that is no text", `${ID}.jsonl`, Buffer.from([0xff, 0xfe, 0x0a, 0x80]), /is damaged/],
  ["a task file of a newer version", `${ID}.jsonl`, INTENT.replace('"v":2', '"v":99'), /newer imggen.*99/],
  ["an empty task file", `${ID}.jsonl`, "", /never sent/],
  ["a foreign file", "notes.txt", "mine", /is not a file of imggen/],
  ["a backup of a task file", `${ID}.jsonl~`, INTENT, /is not a file of imggen/],
];

it.each(ODD)(
  "%s is named by resume in one line and left as it is; the rest is finished",
  async (_what, name, content, words) => {
    const world = await worldWithTask();
    const file = path.join(ledgerFolder(world, "open"), name);
    await writeFile(file, content);
    const run = await world.resume();
    expect(linesWith(run, file)).toEqual([expect.stringMatching(words)]);
    expect(await world.files()).toEqual(SAVED.files);
    expect(await readFile(file)).toEqual(Buffer.from(content));
    // An unreadable file may be a charged task, so success is not reported.
    expect(run.code).toBe(/damaged|newer/.test(String(words)) ? 9 : 0);
  },
);

it.each([
  ["folder", (file: string) => mkdir(file), (file: Stats) => file.isDirectory()],
  ["named pipe", async (file: string) => execFileSync("mkfifo", [file]), (file: Stats) => file.isFIFO()],
])("a %s in the place of a task file is named, and the rest is finished", async (_what, make, isThat) => {
  const world = await worldWithTask();
  const file = path.join(ledgerFolder(world, "open"), `${ID}.jsonl`);
  await make(file);
  expect(linesWith(await world.resume(), file)).toEqual([expect.stringContaining("is damaged")]);
  expect(await world.files()).toEqual(SAVED.files);
  expect(isThat(await lstat(file))).toBe(true);
});

it(".DS_Store, which the system puts into any folder, is no reason for a warning", async () => {
  const name = ".DS_Store";
  const world = await worldWithTask();
  const [open, done] = [ledgerFolder(world, "open"), ledgerFolder(world, "done")];
  await writeFile(path.join(open, name), "x");
  expect(await world.resume()).toMatchObject({ code: 0, stderr: "" });
  await writeFile(path.join(done, name), "x");
  for (const each of await readdir(done, { recursive: true, withFileTypes: true })) {
    if (each.isDirectory()) await writeFile(path.join(each.parentPath, each.name, name), "x");
  }
  for (const command of ["history", "resume"]) {
    const { code, stderr } = await world.run([command, "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  }
  expect(await readdir(open)).toEqual([name]);
});

it("a read-only state folder: history works, resume says what is wrong in one line, and later finishes", async (test) => {
  const disk = tinyDisk(512);
  if (disk === null) return test.skip("needs permission to mount");
  const { world } = await serviceWorld({}, { IMGGEN_HOME: disk });
  await world.generate(["--no-wait"]);
  execFileSync("mount", ["-o", "remount,ro", disk]);
  const history = await world.run(["history"]);
  expect(history).toMatchObject({ code: 0, stderr: "" });
  expect(history.stdout).toContain("task-1");
  const run = await world.run(["resume"]);
  expect(run.code).toBe(8);
  expect(linesWith(run, disk)).toEqual([expect.stringContaining("read-only")]);
  expect(await world.files()).toEqual([]);
  execFileSync("mount", ["-o", "remount,rw", disk]);
  expect(await world.afterResume(["task-1"])).toMatchObject({ exit: 0, submits: 1, files: SAVED.files });
});

/** A world with one paid task that is still to be saved. */
async function worldWithTask(): Promise<ProgramWorld> {
  const { world } = await serviceWorld();
  expect(await world.afterGenerate(["--no-wait"])).toMatchObject({ exit: 0, open: PENDING.open });
  return world;
}

function ledgerFolder(world: ProgramWorld, part: "open" | "done"): string {
  return path.join(world.home, "state", "tasks", part);
}

/** The lines of standard error that name a file. */
function linesWith(run: ProgramResult, file: string): string[] {
  return run.stderr.split("\n").filter((line) => line.includes(file));
}
