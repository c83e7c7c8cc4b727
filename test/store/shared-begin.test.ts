import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { BatchClaims } from "../../src/store/batch-claims.ts";
import { Ledger } from "../../src/store/ledger.ts";
import type { OwnedTask, TaskClaim } from "../../src/store/owners.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { finishTask } from "../support/finish-task.ts";
import { ledgerWorld } from "../support/ledger-world.ts";
import { EVENTS, INTENT, linesOf } from "../support/records.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Begins a task under a name that others know too; its file is closed after the test at the latest. */
async function beginAs(ledger: Ledger, id: string): Promise<OwnedTask | "taken"> {
  const task = await ledger.beginAs(id, INTENT, null);
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
  for (const event of [EVENTS.accepted, EVENTS.completed, EVENTS.saved]) await task.file.record(event);
  await finishTask(ledger, task);
}

describe("beginning a task under a name that several processes know", () => {
  it("puts the intent on disk, as beginning any other task does", async () => {
    const { as, open } = await ledgerWorld();
    const id = as(1).newId();
    const { record, file } = await begun(as(1), id);
    expect(record).toMatchObject({
      id,
      intent: INTENT,
      owner: identity(1),
      state: { name: "intent" },
    });
    expect(await readdir(open)).toEqual([`${id}.jsonl`]);
    expect(await readFile(file.path, "utf8")).toBe(linesOf({ ...EVENTS.intent, id }));
  });

  it("holds it from the moment its file is seen, for other ledgers of the same process too", async () => {
    const { as } = await ledgerWorld();
    const [one, other] = [as(1), as(1)];
    const id = one.newId();
    const beginning = begun(one, id);
    let seen = await other.read(id);
    while (seen === null) seen = await other.read(id);
    if (seen.kind !== "task") throw new Error(`it is ${seen.kind}`);
    expect(other.isUnderWay(seen.record)).toBe(true);
    expect(await other.claim(seen.record)).toBe("elsewhere");
    await (await beginning).release();
    const released = await other.read(id);
    expect(released?.kind === "task" && other.isUnderWay(released.record)).toBe(false);
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
      expect(entry).toMatchObject({ kind: "task", record: { owner: owned[0]?.record.owner } });
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
    expect(await as(1).read(id)).toMatchObject({ record: { state: { name: "saved" } } });
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

  it("leaves nothing unfinished where a process was killed as it began what another had finished", async () => {
    const { as, open } = await ledgerWorld(2);
    const id = as(1).newId();
    await saved(as(2), id);
    await writeFile(path.join(open, `${id}.jsonl`), linesOf(EVENTS.intent));
    expect(await as(1).unfinished()).toEqual([]);
    expect(await as(1).read(id)).toMatchObject({ record: { state: { name: "saved" } } });
    const all = [];
    for await (const entry of as(1).newestFirst()) all.push(entry);
    expect(all).toHaveLength(1);
  });

  it("takes no notice of what a process left that was killed while it began", async () => {
    const { as, open } = await ledgerWorld();
    const id = as(1).newId();
    await mkdir(open, { recursive: true });
    await writeFile(path.join(open, `${id}.jsonl.draft-0a1b2c3d`), linesOf(EVENTS.intent).slice(0, 40));
    expect(await as(1).unfinished()).toEqual([]);
    expect(await as(1).read(id)).toBeNull();
    await begun(as(1), id);
    expect(await as(1).unfinished()).toHaveLength(1);
  });

  it("refuses a state folder that cannot be written", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "");
    const ledger = new Ledger(path.join(file, "state"), fakeClock(), someProcesses(1).as(1));
    await expect(ledger.beginAs(ledger.newId(), INTENT, null)).rejects.toBeInstanceOf(StateFolderError);
  });
});

describe("beginning the task of a claim", () => {
  const ROW = `${"a".repeat(32)}-1`;

  async function newBatch(...pids: number[]) {
    const { as, open, state } = await ledgerWorld(...pids);
    const claims = () => new BatchClaims(path.join(state, "tasks"), "0123456789abcdef", fakeClock());
    return { as, open, claims, folder: path.join(state, "tasks", "batches", "0123456789abcdef") };
  }

  /** What another process does that finds the claim and no task. */
  async function finishedBy(ledger: Ledger, claims: BatchClaims): Promise<void> {
    const id = await claims.owner(ROW, 1);
    await claims.share(ROW, 1);
    await saved(ledger, id);
  }

  it("says once what keeps a claim from being made, and why", async () => {
    const { as, folder } = await newBatch();
    const full = Object.assign(new Error("full"), { code: "ENOSPC" });
    const failing: TaskClaim = {
      take: async () => {
        throw new StateFolderError(folder, full);
      },
      isShared: () => false,
    };
    const beginning = as(1).beginAs(as(1).newId(), INTENT, failing);
    await expect(beginning).rejects.toMatchObject({ message: expect.stringContaining(folder), cause: full });
  });

  it("makes the claim and the task one file, which says itself what it is", async () => {
    const { as, open, claims, folder } = await newBatch();
    const id = as(1).newId();
    const task = await as(1).beginAs(id, INTENT, claims().attempt(ROW, 1));
    if (task === "taken") throw new Error("taken");
    onTestFinished(() => task.file.close());
    expect(await readdir(open)).toEqual([`${id}.jsonl`]);
    expect(await readdir(folder)).toEqual([`${ROW}.1`]);
    expect((await stat(path.join(folder, `${ROW}.1`))).ino).toBe((await stat(task.file.path)).ino);
    expect(await claims().load()).toEqual(new Map([[ROW, [id]]]));
    await task.file.record(EVENTS.accepted);
    expect(await claims().owner(ROW, 1)).toBe(id);
  });

  it("is for whoever claimed it, and leaves nothing of the others", async () => {
    for (let round = 0; round < 20; round++) {
      const { as, open, claims } = await newBatch(2, 3, 4);
      const ids = await Promise.all(
        [1, 2, 3, 4].map(async (pid) => {
          const id = as(pid).newId();
          const task = await as(pid).beginAs(id, INTENT, claims().attempt(ROW, 1));
          if (task !== "taken") onTestFinished(() => task.file.close());
          return task === "taken" ? null : id;
        }),
      );
      const [id] = ids.filter((each) => each !== null);
      expect(ids.filter((each) => each !== null)).toHaveLength(1);
      expect(await readdir(open)).toEqual([`${id}.jsonl`]);
      expect(await claims().owner(ROW, 1)).toBe(id);
    }
  });

  it.each([
    ["between its claim and its reading of the others", 0],
    ["between that reading and its beginning", 1],
  ])("is taken where another finished it %s", async (_when, unseen) => {
    const { as, open, claims } = await newBatch(2);
    const id = as(1).newId();
    const attempt = claims().attempt(ROW, 1);
    let looks = 0;
    const overtaken: TaskClaim = {
      async take(draft) {
        const taken = await attempt.take(draft);
        await finishedBy(as(2), claims());
        return taken;
      },
      isShared: () => looks++ >= unseen && attempt.isShared(),
    };
    expect(await as(1).beginAs(id, INTENT, overtaken)).toBe("taken");
    expect(await readdir(open)).toEqual([]);
    expect(await as(1).read(id)).toMatchObject({ record: { state: { name: "saved" } } });
  });
});
