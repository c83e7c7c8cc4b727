import { appendFile, mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { findForgettable, findOlderForgettable, forget } from "../../../src/core/use-cases/forget.ts";
import { SANDBOX_SERVICE } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { INTENT, LINES, linesOf } from "../../support/records.ts";

const { started, refused, unknown, dismissed, accepted } = LINES;
const DAY_MS = 24 * 3_600_000;
const SERVED = { server: "abc" };
/** The name of a private copy: a digest. */
const digest = (digit: string) => digit.repeat(64);

/** A ledger, and what forgets its tasks so many days later. */
async function worldWith(...pids: number[]) {
  const world = await ledgerWorld(...pids);
  const { ledger, clock } = world;
  const later = (days: number) => ({ ledger, clock: { now: () => clock.now() + days * DAY_MS } });
  const forgetAfter = (days: number, ids: string[]) =>
    forget({ ids, skipped: 0 }, { ...later(days), signal: new AbortController().signal, copyFolders });
  const copyFolders = ["references", "workflows"].map((name) => path.join(world.state, name));
  const copies = async () => (await Promise.all(copyFolders.map((folder) => readdir(folder)))).flat();
  /** Writes a private copy of so many days before. */
  const keep = async (folder: string, name: string, days: number) => {
    const file = path.join(world.state, folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, "bytes");
    const then = new Date(clock.now() - days * DAY_MS);
    await utimes(file, then, then);
    return file;
  };
  return { ...world, later, forgetAfter, copies, keep };
}

describe("a task that imggen serve has begun", () => {
  it("is kept for 7 days, in which its client may ask for it, and no longer", async () => {
    const { ledger, later, forgetAfter } = await worldWith();
    const { id } = (await leftTask(ledger, SERVED, started, refused)).task;
    await expect(findForgettable([id], later(6.9))).rejects.toThrow("less than 7 days ago");
    expect(await findOlderForgettable("1d", false, later(6.9))).toEqual({ ids: [], skipped: 1 });
    expect(await findForgettable([id], later(7.1))).toEqual({ ids: [id], skipped: 0 });
    expect(await findOlderForgettable("1d", false, later(7.1))).toEqual({ ids: [id], skipped: 0 });
    expect(await forgetAfter(7.1, [id])).toEqual({ forgotten: 1, skipped: 0 });
    expect(await ledger.read(id)).toBeNull();
  });

  it("is looked at again before it is removed", async () => {
    const { ledger, forgetAfter } = await worldWith();
    const { id } = (await leftTask(ledger, SERVED, started, refused)).task;
    expect(await forgetAfter(1, [id])).toEqual({ forgotten: 0, skipped: 1 });
    expect(await ledger.read(id)).toMatchObject({ kind: "task" });
  });
});

it("the sandbox's tasks and all others are forgotten apart", async () => {
  const { ledger, later } = await worldWith();
  const service = { baseUrl: SANDBOX_SERVICE, keyId: "0123456789abcdef" };
  const sandbox = (await leftTask(ledger, { service }, started, refused)).task.id;
  const other = (await leftTask(ledger, {}, started, refused)).task.id;
  expect(await findOlderForgettable("1d", false, later(2))).toEqual({ ids: [other], skipped: 0 });
  expect(await findOlderForgettable("1d", true, later(2))).toEqual({ ids: [sandbox], skipped: 0 });
});

describe("a record stays, whoever wants it removed,", () => {
  it("if a late answer has opened its task again", async () => {
    const { ledger } = await worldWith();
    const { id } = (await leftTask(ledger, {}, started, unknown, dismissed)).task;
    const entry = await ledger.read(id);
    if (entry?.kind !== "task") throw new Error("no task");
    await appendFile(entry.file, linesOf(accepted));
    expect(await ledger.forget(id, () => true)).toBe(false);
    expect(await ledger.read(id)).toMatchObject({ task: { state: "accepted" } });
  });

  it("if its intent is beside it, and a process that lives is at work on that", async () => {
    const { as, open, forgetAfter } = await worldWith(2);
    const other = as(2);
    const { task, file } = await other.begin(INTENT);
    const intent = await readFile(file.path);
    for (const line of [started, refused]) await file.record(line);
    await other.files.moveToDone(task);
    await writeFile(path.join(open, path.basename(file.path)), intent);
    expect(await forgetAfter(1, [task.id])).toEqual({ forgotten: 0, skipped: 1 });
    expect(await readFile(path.join(open, path.basename(file.path)))).toEqual(intent);
    file.close();
  });
});

it("what is kept of a task is removed by the next sweep, if the disk refuses that at first", async () => {
  const { ledger, state, forgetAfter } = await worldWith();
  const { id } = (await leftTask(ledger, {}, started, refused)).task;
  const stuck = path.join(state, "tasks/parts/2026-01-31/1200", `${id}.2.jsonl`);
  await mkdir(stuck, { recursive: true });
  await expect(forgetAfter(1, [id])).rejects.toThrow(state);
  expect(await ledger.read(id)).toBeNull();
  await rm(stuck, { recursive: true });
  await writeFile(stuck, "{}\n");
  await ledger.sweep();
  expect([await readdir(path.dirname(stuck)), await readdir(path.join(state, "tasks/forgotten"))]).toEqual([
    [],
    [],
  ]);
});

describe("private copies, which several tasks may share,", () => {
  /** Two finished tasks: the first has an image and a workflow of its own, and both have another of each. */
  async function sharingWorld(...pids: number[]) {
    const world = await worldWith(...pids);
    const { ledger, keep } = world;
    const { own, shared } = { own: [digest("a"), digest("b")], shared: [digest("c"), digest("d")] };
    for (const [image = "", workflow = ""] of [own, shared]) {
      await keep("references", `${image}.png`, 2);
      await keep("workflows", `${workflow}.json`, 2);
    }
    const url = (name = "") => pathToFileURL(path.join(world.state, "references", `${name}.png`)).href;
    const task = async (image: string[], workflow = "", ...lines: Line[]) => {
      const request = { ...INTENT.request, image };
      const options = { ...INTENT.options, workflow };
      return (await leftTask(ledger, { request, options }, ...lines)).task.id;
    };
    const first = await task([url(own[0]), url(shared[0])], own[1], started, refused);
    const second = await task([url(shared[0])], shared[1], started, refused);
    return { ...world, task, url, first, second, own, shared };
  }

  it("are removed with the last record that names them, finished or open", async () => {
    const { forgetAfter, copies, task, url, first, second, shared } = await sharingWorld();
    const open = await task([url(digest("e"))], shared[1]);
    expect(open).toBeTruthy();
    expect(await forgetAfter(0, [first])).toEqual({ forgotten: 1, skipped: 0 });
    expect(await copies()).toEqual([`${shared[0]}.png`, `${shared[1]}.json`]);
    expect(await forgetAfter(0, [second])).toEqual({ forgotten: 1, skipped: 0 });
    expect(await copies()).toEqual([`${shared[1]}.json`]);
  });

  it("stay for a day: a command makes them before its tasks", async () => {
    const { forgetAfter, copies, keep } = await worldWith();
    await keep("references", `${digest("a")}.png`, 0.9);
    await keep("references", `.${digest("b")}.png.0123abcd`, 1.1);
    await keep("workflows", `${digest("c")}.json`, 1.1);
    await forgetAfter(0, []);
    expect(await copies()).toEqual([`${digest("a")}.png`]);
  });

  it("stay while a process is at work: the first tasks of a batch may be days older than the last", async () => {
    const { as, forgetAfter, copies, first, second } = await sharingWorld(2);
    const { task, file } = await as(2).begin(INTENT);
    const before = await copies();
    await forgetAfter(0, [first, second]);
    expect(await copies()).toEqual(before);
    file.close();
    expect(task.state).toBe("waiting");
  });

  it("stay if a record cannot be read: it may name them", async () => {
    const { open, forgetAfter, copies, first, second } = await sharingWorld();
    await writeFile(path.join(open, "20260131T120000000-0badc0de.jsonl"), '{"type":"intent","v":99}\n');
    const before = await copies();
    expect(await forgetAfter(0, [first, second])).toEqual({ forgotten: 2, skipped: 0 });
    expect(await copies()).toEqual(before);
  });

  it("are left alone among files of other names", async () => {
    const { forgetAfter, copies, keep } = await worldWith();
    await keep("references", "fox.png", 9);
    await keep("workflows", ".DS_Store", 9);
    await forgetAfter(0, []);
    expect(await copies()).toEqual(["fox.png", ".DS_Store"]);
  });
});
