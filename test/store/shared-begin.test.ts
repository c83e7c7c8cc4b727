import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Ledger, OwnedTask } from "../../src/store/ledger.ts";
import { finishTask } from "../support/finish-task.ts";
import { ledgerWorld } from "../support/ledger-world.ts";
import { INTENT, LINES, linesOf } from "../support/records.ts";

/** Begins a task under a name that others know too; its file is closed after the test at the latest. */
async function beginAs(ledger: Ledger, id: string): Promise<OwnedTask | "taken"> {
  const task = await ledger.begin(INTENT, { id, isShared: true });
  if (task !== "taken") onTestFinished(() => task.file.close());
  return task;
}

const begun = async (ledger: Ledger, id: string): Promise<OwnedTask> => {
  const task = await beginAs(ledger, id);
  if (task === "taken") throw new Error("taken");
  return task;
};

/** A process begins it, and takes it to its end. */
async function saved(ledger: Ledger, id: string): Promise<void> {
  const task = await begun(ledger, id);
  for (const line of [LINES.accepted, LINES.completed, LINES.saved]) await task.file.record(line);
  await finishTask(ledger, task);
}

describe("beginning a task under a name that several processes know", () => {
  it("holds it from the moment its file is seen, for other ledgers of the same process too", async () => {
    const { as } = await ledgerWorld();
    const [one, other] = [as(1), as(1)];
    const id = one.newId();
    const beginning = begun(one, id);
    let seen = await other.read(id);
    while (seen === null) seen = await other.read(id);
    if (seen.kind !== "task") throw new Error(`it is ${seen.kind}`);
    expect(other.isClaimed(seen.task)).toBe(true);
    expect(await other.take(seen.task)).toBe("claimed");
    one.release(await beginning, true);
    const released = await other.read(id);
    expect(released?.kind === "task" && other.isClaimed(released.task)).toBe(false);
  });

  it("is for exactly one of them, however many come at once, and leaves nothing of the others", async () => {
    for (let round = 0; round < 20; round++) {
      const { as, open } = await ledgerWorld(2, 3, 4);
      const id = as(1).newId();
      const tasks = await Promise.all([1, 2, 3, 4].map((pid) => beginAs(as(pid), id)));
      const owned = tasks.filter((task) => task !== "taken");
      expect(owned).toHaveLength(1);
      expect(await readdir(open)).toEqual([`${id}.jsonl`]);
      const entry = await as(1).read(id);
      expect(entry).toMatchObject({ kind: "task", task: { holder: owned[0]?.task.holder } });
    }
  });

  it("is taken where another has begun it, even if that one is dead by now: what it sent is not known", async () => {
    const { as, processes } = await ledgerWorld(2);
    const id = as(1).newId();
    await begun(as(2), id);
    expect(await beginAs(as(1), id)).toBe("taken");
    processes.die(2);
    expect(await beginAs(as(1), id)).toBe("taken");
  });

  it("is taken where another has begun and finished it since it was read, and stays finished", async () => {
    const { as, open } = await ledgerWorld(2);
    const id = as(1).newId();
    expect(await as(1).read(id)).toBeNull();
    await saved(as(2), id);
    expect(await beginAs(as(1), id)).toBe("taken");
    expect(await readdir(open)).toEqual([]);
    expect(await as(1).read(id)).toMatchObject({ task: { state: "saved" } });
  });

  it("is noticed as taken even by a process that has listed the finished tasks before", async () => {
    const { as } = await ledgerWorld(2);
    const ledger = as(1);
    const [id, before] = [ledger.newId(), ledger.newId()];
    await finishTask(ledger, await begun(ledger, before));
    expect(await ledger.read(before)).not.toBeNull();
    expect(await ledger.read(id)).toBeNull();
    await finishTask(as(2), await begun(as(2), id));
    expect(await beginAs(ledger, id)).toBe("taken");
  });

  it("is taken if another has begun and finished it between the draft and its name, or since", async () => {
    for (const isLater of [false, true]) {
      const { as, open } = await ledgerWorld(2);
      const ledger = as(1);
      const id = ledger.newId();
      const { isDone } = ledger.files;
      let looks = 0;
      ledger.files.isDone = (each) => (looks++ === 0 && isLater ? false : isDone.call(ledger.files, each));
      const isFree = async () => {
        await saved(as(2), id);
        return true;
      };
      expect(await ledger.begin(INTENT, { id, isShared: true, isFree })).toBe("taken");
      expect(await readdir(open)).toEqual([]);
      expect(await as(2).read(id)).toMatchObject({ task: { state: "saved" } });
    }
  });

  it("is not begun if it is not free, and nothing is left of it", async () => {
    const { as, open } = await ledgerWorld();
    const drafts: string[] = [];
    const isFree = async (draft: string) => {
      drafts.push(await readFile(draft, "utf8"));
      return false;
    };
    const ledger = as(1);
    const id = ledger.newId();
    expect(await ledger.begin(INTENT, { id, isShared: true, isFree })).toBe("taken");
    expect(drafts).toMatchObject([expect.stringContaining(id)]);
    expect(await readdir(open)).toEqual([]);
    expect(await ledger.begin(INTENT, { id, isShared: true })).toMatchObject({ task: { id } });
  });

  it("leaves nothing unfinished where a process was killed as it began what another had finished", async () => {
    const { as, open } = await ledgerWorld(2);
    const id = as(1).newId();
    await saved(as(2), id);
    await writeFile(path.join(open, `${id}.jsonl`), linesOf(LINES.intent));
    expect(await as(1).unfinished()).toEqual([]);
    expect(await as(1).read(id)).toMatchObject({ task: { state: "saved" } });
    const all = [];
    for await (const entry of as(1).tasksNewestFirst()) all.push(entry);
    expect(all).toHaveLength(1);
  });

  it("takes no notice of what a process left that was killed while it began", async () => {
    const { as, open } = await ledgerWorld();
    const id = as(1).newId();
    await mkdir(open, { recursive: true });
    await writeFile(path.join(open, `${id}.jsonl.draft-0a1b2c3d`), linesOf(LINES.intent).slice(0, 40));
    expect(await as(1).unfinished()).toEqual([]);
    expect(await as(1).read(id)).toBeNull();
    await begun(as(1), id);
    expect(await as(1).unfinished()).toHaveLength(1);
  });
});
