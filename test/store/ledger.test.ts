import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Ledger } from "../../src/store/ledger.ts";
import type { LedgerEntry } from "../../src/store/ledger-files.ts";
import type { OwnedTask } from "../../src/store/owners.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import type { TaskEvent } from "../../src/task/task.ts";
import type { Task } from "../../src/task/task.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { finishTask } from "../support/finish-task.ts";
import { begunTask, ledgerWorld, leftTask } from "../support/ledger-world.ts";
import { AT, EVENTS, INTENT, linesOf } from "../support/records.ts";
import { pause } from "../support/scripts.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { intent, accepted, completed, saved } = EVENTS;

/** Puts a file into the folder of tasks. */
async function plant(folder: string, name: string, content: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, name), content);
  return path.join(folder, name);
}

async function all<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const list: Entry[] = [];
  for await (const entry of entries) list.push(entry);
  return list;
}

const idOf = (entry: LedgerEntry | undefined) => (entry?.kind === "task" ? entry.record.id : undefined);

async function claim(ledger: Ledger, record: Task) {
  const result = await ledger.claim(record);
  if (typeof result === "object") onTestFinished(() => result.file.close());
  return result;
}

const claimed = async (ledger: Ledger, id: string): Promise<OwnedTask> => {
  const record = await ledger.find(id);
  const owned = record && (await claim(ledger, record));
  if (owned === null || typeof owned === "string") throw new Error(`not claimed: ${owned}`);
  return owned;
};

describe("work on one request at a time", () => {
  const SOON = { mostMs: 5_000 };

  it("gives up after the time that it is given, and names the process that has it", async () => {
    const { as, open } = await ledgerWorld(2);
    void as(2).alone(INTENT, () => new Promise<never>(() => {}), SOON);
    while ((await readdir(open).catch(() => [])).length === 0) await new Promise(setImmediate);
    await expect(as(1).alone(INTENT, async () => "done", { mostMs: 50 })).rejects.toThrow("process 2");
  });

  it("waits for another caller's, in one process or in several, and takes the work's error as it is", async () => {
    const { as, open } = await ledgerWorld(2);
    const said: string[] = [];
    const work = (name: string) => async () => {
      said.push(`${name} begins`);
      await pause(20);
      said.push(`${name} ends`);
      throw new Error(name);
    };
    const [one, two] = [as(1), as(2)];
    const ends = await Promise.allSettled([
      one.alone(INTENT, work("a"), SOON),
      one.alone(INTENT, work("b"), SOON),
      two.alone(INTENT, work("c"), SOON),
    ]);
    expect(said).toHaveLength(6);
    for (const [at, line] of said.entries())
      if (at % 2 === 1) expect(line.replace("ends", "begins")).toBe(said[at - 1]);
    expect(ends.map((end) => end.status === "rejected" && end.reason.message)).toEqual(["a", "b", "c"]);
    expect(await readdir(open)).toEqual([]);
  });

  it("does not wait for another request's, nor for that of a process that was killed", async () => {
    const { as, processes, open } = await ledgerWorld(2);
    const forever = new Promise<never>(() => {});
    void as(2).alone(INTENT, () => forever, SOON);
    while ((await readdir(open).catch(() => [])).length === 0) await new Promise(setImmediate);
    const other = { ...INTENT, request: { ...INTENT.request, prompt: "an owl" } };
    expect(await as(1).alone(other, async () => "done", SOON)).toBe("done");
    processes.die(2);
    expect(await as(1).alone(INTENT, async () => "done", SOON)).toBe("done");
  });

  it("is told afterwards that another machine has taken over, which waits until the claim's time is up", async () => {
    const { as, open } = await ledgerWorld();
    const ours = as(1);
    const theirs = new Ledger(path.dirname(ours.folder), fakeClock(), {
      self: identity(1, "elsewhere"),
      isAlive: () => false,
    });
    const kept = ours.alone(
      INTENT,
      async (isKept) => {
        await expect(theirs.alone(INTENT, async () => "done", { mostMs: 50 })).rejects.toThrow("process 1");
        expect(await isKept()).toBe(true);
        const [name = ""] = await readdir(open);
        const claim = JSON.parse(await readFile(path.join(open, name), "utf8"));
        expect(Date.parse(claim.until)).toBeGreaterThan(Date.parse(AT) + 5_000);
        await writeFile(path.join(open, name), JSON.stringify({ ...claim, until: AT }));
        expect(await theirs.alone(INTENT, async () => "done", SOON)).toBe("done");
        return isKept();
      },
      SOON,
    );
    expect(await kept).toBe(false);
  });

  it("says that the state folder cannot be used where that cannot be told", async () => {
    const { as, open } = await ledgerWorld();
    const work = async (isKept: () => Promise<boolean>) => {
      await rm(open, { recursive: true });
      return isKept();
    };
    await expect(as(1).alone(INTENT, work, SOON)).rejects.toThrow(StateFolderError);
  });

  it("waits no longer than the signal allows, and throws its reason", async () => {
    const { as, open } = await ledgerWorld(2);
    void as(2).alone(INTENT, () => new Promise<never>(() => {}), SOON);
    while ((await readdir(open).catch(() => [])).length === 0) await new Promise(setImmediate);
    const interruption = new AbortController();
    const limits = { ...SOON, signal: interruption.signal };
    const waiting = as(1).alone(INTENT, async () => "done", limits);
    interruption.abort(new Error("Ctrl-C"));
    await expect(waiting).rejects.toThrow("Ctrl-C");
  });

  it("leaves nothing that counts as a task, and what a killed process left is swept", async () => {
    const { as, processes, ledger, open } = await ledgerWorld(2);
    void as(2).alone(INTENT, () => new Promise<never>(() => {}), SOON);
    while ((await readdir(open).catch(() => [])).length === 0) await new Promise(setImmediate);
    processes.die(2);
    expect(await ledger.unfinished()).toEqual([]);
    await ledger.sweep();
    expect(await readdir(open)).toEqual([]);
  });
});

describe("beginning a task", () => {
  it("puts the intent on disk, named by the time, in folders for its owner only", async () => {
    const { ledger, open, state } = await ledgerWorld();
    const { record, file } = await begunTask(ledger);
    expect(record).toMatchObject({ intent: INTENT, owner: identity(1), state: { name: "intent" } });
    expect(record.id).toMatch(/^20260131T120000000-[0-9a-f]{8}$/);
    expect(await readdir(open)).toEqual([`${record.id}.jsonl`]);
    expect(await readFile(file.path, "utf8")).toBe(linesOf(intent));
    for (const folder of [open, path.join(state, "tasks")])
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("never gives two tasks of one moment the same file", async () => {
    const { ledger, open } = await ledgerWorld();
    await Promise.all(Array.from({ length: 25 }, () => begunTask(ledger)));
    expect(await readdir(open)).toHaveLength(25);
  });

  it("refuses a state folder that cannot be written, and names it", async () => {
    const file = await plant(await temporaryFolder(), "file", "");
    const ledger = new Ledger(path.join(file, "state"), fakeClock(), someProcesses(1).as(1));
    const error = await ledger.begin(INTENT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StateFolderError);
    expect(error).toMatchObject({
      type: "save_failed",
      charged: "no",
      message: expect.stringContaining(file),
    });
  });
});

describe("claiming an unfinished task", () => {
  it("is refused while the process that began it is alive", async () => {
    const { ledger, as } = await ledgerWorld(2);
    const { record } = await begunTask(ledger);
    expect(await claim(as(2), record)).toBe("elsewhere");
  });

  it("is granted when that process is dead, and goes on in the same file", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const begun = await begunTask(ledger);
    await begun.file.record(accepted);
    processes.die(1);
    const owned = await claimed(as(2), begun.record.id);
    await owned.file.record(completed);
    expect(await readFile(begun.file.path, "utf8")).toBe(linesOf(intent, accepted, completed));
  });

  it("reports how far the task has come by now, not when it was listed", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const { record, file } = await begunTask(ledger);
    await file.record(accepted);
    processes.die(1);
    expect(await claim(as(2), record)).toMatchObject({ record: { state: { name: "accepted" } } });
  });

  it("is granted to one of two that find its process dead", async () => {
    for (let round = 0; round < 10; round++) {
      const { ledger, as, processes } = await ledgerWorld(2, 3);
      const { record } = await begunTask(ledger);
      processes.die(1);
      const results = await Promise.all([claim(as(2), record), claim(as(3), record)]);
      expect(results.filter((result) => result === "elsewhere")).toHaveLength(1);
    }
  });

  it("is granted again when the claimer has let go of it, or is dead itself", async () => {
    const { ledger, as, processes } = await ledgerWorld(2, 3, 4);
    const { record } = await begunTask(ledger);
    processes.die(1);
    await (await claimed(as(2), record.id)).release();
    await claimed(as(3), record.id);
    expect(await claim(as(4), record)).toBe("elsewhere");
    processes.die(3);
    await claimed(as(4), record.id);
  });

  it("is released even if the disk reports an error when the file is closed", async () => {
    const { ledger, as, processes } = await ledgerWorld(2, 3);
    const { record } = await begunTask(ledger);
    processes.die(1);
    const task = await claimed(as(2), record.id);
    vi.spyOn(task.file, "close").mockImplementationOnce(() => {
      throw new Error("EDQUOT");
    });
    await expect(task.release()).rejects.toThrow("EDQUOT");
    await (await claimed(as(3), record.id)).release();
  });

  it("says so where another process has finished it meanwhile", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const task = await begunTask(ledger);
    await finishTask(ledger, task);
    processes.die(1);
    expect(await claim(as(2), task.record)).toBe("finished");
  });
});

describe("finishing a task", () => {
  it("moves its file to its day and minute, and leaves nothing behind", async () => {
    const { ledger, as, processes, open, state } = await ledgerWorld(2);
    const { record } = await begunTask(ledger);
    processes.die(1);
    await finishTask(as(2), await claimed(as(2), record.id));
    expect(await readdir(open)).toEqual([]);
    const minute = path.join(state, "tasks", "done", "2026-01-31", "1200");
    const [name = ""] = await readdir(minute);
    expect(name.startsWith(`${record.id}.`)).toBe(true);
    expect(await readFile(path.join(minute, name), "utf8")).toBe(linesOf(intent));
  });

  it("leaves it to be found", async () => {
    const { ledger } = await ledgerWorld();
    await leftTask(ledger, {}, accepted, saved);
    expect(await ledger.find("task-1")).toMatchObject({ state: { name: "saved" } });
    expect(await ledger.unfinished()).toEqual([]);
  });
});

describe("finishing a task that another machine has finished meanwhile", () => {
  it("leaves it where that machine has put it", async () => {
    const { ledger, as, processes, open } = await ledgerWorld(2);
    const task = await begunTask(ledger);
    await task.file.record(accepted);
    // To the other machine this process looks as if it were gone.
    processes.die(1);
    await finishTask(as(2), await claimed(as(2), task.record.id));
    await expect(ledger.finish(task, task.record)).resolves.toBeUndefined();
    expect(await readdir(open)).toEqual([]);
  });

  it("is an error where the file is in neither place", async () => {
    const { ledger } = await ledgerWorld();
    const task = await begunTask(ledger);
    await rm(task.file.path);
    await expect(ledger.finish(task, task.record)).rejects.toThrow("ENOENT");
  });
});

describe("the unfinished tasks", () => {
  it("are none before the first", async () => {
    const { ledger } = await ledgerWorld();
    expect(await ledger.unfinished()).toEqual([]);
  });

  it("come oldest first, without the claims on them", async () => {
    const { ledger, as, clock, processes } = await ledgerWorld(2);
    const first = await begunTask(ledger);
    clock.advance(1);
    const second = await begunTask(ledger);
    processes.die(1);
    await claimed(as(2), first.record.id);
    expect((await ledger.unfinished()).map(idOf)).toEqual([first.record.id, second.record.id]);
  });

  it("are listed with what else lies there, each as what it is", async () => {
    const { ledger, open } = await ledgerWorld();
    const id = (digit: number) => `2026013${digit}T120000000-0123abcd`;
    await plant(open, `${id(0)}.jsonl`, '{"type":"int');
    await plant(open, `${id(1)}.jsonl`, "garbage\n");
    await plant(open, `${id(2)}.jsonl`, '{"v":9}\n');
    await plant(open, `${id(3)}.jsonl`, linesOf(intent));
    await plant(open, "notes.txt", "mine");
    await plant(open, `${id(4)}.jsonl.bak`, linesOf(intent));
    await mkdir(path.join(open, `${id(5)}.jsonl`));
    expect((await ledger.unfinished()).map(({ file, kind }) => [path.basename(file), kind])).toEqual([
      [`${id(0)}.jsonl`, "stub"],
      [`${id(1)}.jsonl`, "damaged"],
      [`${id(2)}.jsonl`, "newer"],
      [`${id(3)}.jsonl`, "task"],
      [`${id(4)}.jsonl.bak`, "foreign"],
      [`${id(5)}.jsonl`, "damaged"],
      ["notes.txt", "foreign"],
    ]);
    expect(await readdir(open)).toHaveLength(7);
  });
});

describe("tasks by their ids", () => {
  it("are found in one pass, unfinished and finished, by either id; the newest counts", async () => {
    const { ledger, clock } = await ledgerWorld();
    const tasks = [];
    for (const taskId of ["task-1", "task-2", "task-1"]) {
      tasks.push(await begunTask(ledger, {}, { ...EVENTS.accepted, taskId }));
      clock.advance(1000);
    }
    const [first, second, third] = tasks.map(({ record }) => record.id);
    if (tasks[1]) await finishTask(ledger, tasks[1]);
    const found = await ledger.findEach(["task-1", "task-2", first ?? "", "task-9"]);
    expect([...found].map(([id, record]) => [id, record.id]).sort()).toEqual(
      [
        ["task-1", third],
        ["task-2", second],
        [first, first],
      ].sort(),
    );
  });
});

describe("all tasks, newest first,", () => {
  it("are the unfinished and the finished in one order", async () => {
    const { ledger, clock } = await ledgerWorld();
    const ids: string[] = [];
    for (let at = 0; at < 8; at++) {
      const task = await begunTask(ledger);
      ids.unshift(task.record.id);
      if (at % 3 !== 0) await finishTask(ledger, task);
      clock.advance(9 * 3_600_000);
    }
    expect((await all(ledger.newestFirst())).map(idOf)).toEqual(ids);
  });

  it("are read only as far as they are asked for", async () => {
    const { ledger, clock } = await ledgerWorld();
    for (let at = 0; at < 3; at++) {
      await finishTask(ledger, await begunTask(ledger));
      clock.advance(1000);
    }
    const files = (await all(ledger.newestFirst())).map(({ file }) => file);
    const entries = ledger.newestFirst();
    await entries.next();
    for (const file of files) await writeFile(file, "garbage\n");
    expect(await entries.next()).toMatchObject({ value: { kind: "damaged", file: files[1] } });
    await entries.return(undefined);
  });

  it("are none where there is no ledger, or a file in its place", async () => {
    const { ledger, state } = await ledgerWorld();
    expect(await all(ledger.newestFirst())).toEqual([]);
    await plant(state, "tasks", "");
    expect(await all(ledger.newestFirst())).toEqual([]);
  });

  it("are not disturbed by strange files among the finished", async () => {
    const { ledger } = await ledgerWorld();
    const task = await begunTask(ledger);
    await finishTask(ledger, task);
    await plant(path.join(ledger.folder, "done"), ".DS_Store", "");
    await plant(path.join(ledger.folder, "done", "2026-01-31"), ".DS_Store", "");
    for (const name of [".DS_Store", "Thumbs.db", "notes.txt"])
      await plant(path.join(ledger.folder, "done", "2026-01-31", "1200"), name, "");
    const entries = await all(ledger.newestFirst());
    expect(entries.map(({ kind }) => kind).sort()).toEqual(["foreign", "task"]);
  });
});

const FILE = {
  path: "/tmp/images/a-fox.png",
  url: "https://cdn.example/1.png",
  mediaType: "image/png",
  bytes: 1,
  sha256: "ab".repeat(32),
  width: 1,
  height: 1,
};

describe("finding a task", () => {
  it("finds nothing for an id that is not there, a part of one, or a path", async () => {
    const { ledger } = await ledgerWorld();
    await begunTask(ledger, {}, accepted);
    for (const id of ["task-2", "task", "", "../open"]) expect(await ledger.find(id)).toBeNull();
  });

  const finishedWith = async (ledger: Ledger, ...events: TaskEvent[]) =>
    (await leftTask(ledger, {}, ...events)).record.id;

  it("opens no finished task's file but the one that it finds", async () => {
    const { ledger, clock } = await ledgerWorld();
    await finishedWith(ledger, accepted, completed, saved);
    clock.advance(60_000);
    await finishedWith(ledger, { ...accepted, taskId: "task-2" }, completed, saved);
    const [newest] = await all(ledger.newestFirst());
    await writeFile(newest?.file ?? "", "garbage\n");
    expect(await ledger.find("task-1")).not.toBeNull();
    expect(await ledger.find("task-2")).toBeNull();
  });

  it("finds the task that a file's bytes came from", async () => {
    const { ledger } = await ledgerWorld();
    const id = await finishedWith(ledger, accepted, completed, { ...saved, files: [FILE] });
    expect(await ledger.findByFile(FILE.sha256)).toMatchObject({ id });
    expect(await ledger.findByFile(`${FILE.sha256.slice(0, 62)}00`)).toBeNull();
  });

  it("finds every task for the very same request of the same account, newest first", async () => {
    const { ledger, clock, state } = await ledgerWorld();
    const older = await finishedWith(ledger, accepted, completed, saved);
    clock.advance(60_000);
    const other = await ledger.begin({ ...INTENT, request: { ...INTENT.request, prompt: "a hare" } });
    await finishTask(ledger, other);
    clock.advance(60_000);
    const { record } = await begunTask(ledger, {}, accepted);
    const found = ledger.sameRequest({ ...INTENT, request: { model: "gamma-image-2", prompt: "a fox" } });
    expect((await all(found)).map(({ id }) => id)).toEqual([record.id, older]);
    const recent = ledger.sameRequest(INTENT, clock.now() - 30_000);
    expect((await all(recent)).map(({ id }) => id)).toEqual([record.id]);
    // Systems put hidden files into any folder, here into that of a later minute.
    await plant(path.join(state, "tasks/done/2026-01-31/2359"), ".DS_Store", "");
    const despite = ledger.sameRequest(INTENT);
    expect((await all(despite)).map(({ id }) => id)).toEqual([record.id, older]);
    const since = ledger.sameRequest(INTENT, clock.now() - 3_600_000);
    expect((await all(since)).map(({ id }) => id)).toEqual([record.id, older]);
    const service = { ...INTENT.service, keyId: "fedcba9876543210" };
    expect((await ledger.sameRequest({ ...INTENT, service }).next()).done).toBe(true);
  });
});
