import { appendFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { forget, namedToForget, olderToForget } from "../../../src/core/use-cases/forget.ts";
import { SANDBOX_SERVICE } from "../../../src/task/intent.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { INTENT, LINES, linesOf } from "../../support/records.ts";

const { started, refused, unknown, dismissed, accepted } = LINES;
const DAY_MS = 24 * 3_600_000;
const SERVED = { server: "abc" };

/** A ledger, and what forgets its tasks so many days later. */
async function worldWith(...pids: number[]) {
  const world = await ledgerWorld(...pids);
  const { ledger, clock } = world;
  const later = (days: number) => ({ ledger, clock: { now: () => clock.now() + days * DAY_MS } });
  const forgetAfter = (days: number, ids: string[]) =>
    forget({ ids, skipped: 0 }, { ...later(days), signal: new AbortController().signal });
  return { ...world, later, forgetAfter };
}

describe("a task that imggen serve has begun", () => {
  it("is kept for 7 days, in which its client may ask for it, and no longer", async () => {
    const { ledger, later, forgetAfter } = await worldWith();
    const { id } = (await leftTask(ledger, SERVED, started, refused)).task;
    await expect(namedToForget([id], later(6.9))).rejects.toThrow("less than 7 days ago");
    expect(await olderToForget("1d", false, later(6.9))).toEqual({ ids: [], skipped: 1 });
    expect(await namedToForget([id], later(7.1))).toEqual({ ids: [id], skipped: 0 });
    expect(await olderToForget("1d", false, later(7.1))).toEqual({ ids: [id], skipped: 0 });
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
  expect(await olderToForget("1d", false, later(2))).toEqual({ ids: [other], skipped: 0 });
  expect(await olderToForget("1d", true, later(2))).toEqual({ ids: [sandbox], skipped: 0 });
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
