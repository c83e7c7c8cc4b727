import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ClaimedTask } from "../../src/core/engine/claimed-task.ts";
import { Ledger, type OwnedTask } from "../../src/store/ledger.ts";
import type { LedgerEntry } from "../../src/store/ledger-files.ts";
import type { Line } from "../../src/task/line.ts";
import { type Task, withLine } from "../../src/task/task.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { finishTask } from "../support/finish-task.ts";
import { begunTask, ledgerWorld, leftTask } from "../support/ledger-world.ts";
import { INTENT, LINES, linesOf, WORK } from "../support/records.ts";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { intent, started, unknown, dismissed, refused, accepted, completed, saved } = LINES;

/** What the first line of a task has of its own. */
const firstOf = ({ id, holder }: Task) => ({ id, holder: holder ?? "" });

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

const idOf = (entry: LedgerEntry | undefined) => (entry?.kind === "task" ? entry.task.id : undefined);

async function take(ledger: Ledger, task: Task) {
  const result = await ledger.take(task);
  if (typeof result === "object") onTestFinished(() => result.file.closeIfPossible());
  return result;
}

const taken = async (ledger: Ledger, id: string): Promise<OwnedTask> => {
  const task = await ledger.find(id);
  const owned = task && (await take(ledger, task));
  if (owned === null || typeof owned === "string") throw new Error(`not taken: ${owned}`);
  return owned;
};

const typesIn = async (file: string) => (await readFile(file, "utf8")).match(/(?<=^\{"type":")\w+/gm);

describe("beginning a task", () => {
  it("puts the intent on disk, named by the time, in folders for its owner only", async () => {
    const { ledger, open, state } = await ledgerWorld();
    const { task, file, part } = await begunTask(ledger);
    expect(task).toMatchObject({ intent: INTENT, state: "waiting", parts: 1, mark: task.holder });
    expect([task.id, task.holder, part]).toEqual([
      expect.stringMatching(/^20260131T120000000-[0-9a-f]{8}$/),
      expect.stringMatching(/^[0-9a-f]{16}$/),
      1,
    ]);
    expect(await readdir(open)).toEqual([`${task.id}.jsonl`]);
    expect(JSON.parse(await readFile(file.path, "utf8"))).toEqual({ ...intent, ...firstOf(task) });
    expect(await ledger.read(task.id)).toMatchObject({ kind: "task", task });
    for (const folder of [open, path.join(state, "tasks")])
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("counts a request as sent that is submitted at once, and keeps what else it is begun with", async () => {
    const { ledger } = await ledgerWorld();
    const { task, file } = (await ledger.begin(INTENT, {
      isSent: true,
      claim: "ab/cd-1.1",
      once: true,
    })) as OwnedTask;
    file.close();
    expect(task).toMatchObject({ state: "started", claim: "ab/cd-1.1", isOnce: true });
    expect(await ledger.read(task.id)).toMatchObject({ task });
  });

  it("never gives two tasks of one moment the same file", async () => {
    const { ledger, open } = await ledgerWorld();
    await Promise.all(Array.from({ length: 25 }, () => begunTask(ledger)));
    expect(await readdir(open)).toHaveLength(25);
  });

  it("refuses a state folder that cannot be written, and names it", async () => {
    const file = await plant(await temporaryFolder(), "file", "");
    const ledger = new Ledger(path.join(file, "state"), fakeClock(), someProcesses(1).as(1));
    await expect(ledger.begin(INTENT)).rejects.toMatchObject({
      type: "save_failed",
      charged: "no",
      message: expect.stringContaining(file),
    });
  });
});

describe("taking an unfinished task", () => {
  it("is refused while the process that began it is alive", async () => {
    const { ledger, as } = await ledgerWorld(2);
    const { task } = await begunTask(ledger);
    expect(await take(as(2), task)).toBe("claimed");
    expect(await take(ledger, task)).toBe("claimed");
    expect(as(2).isClaimed(task)).toBe(true);
    expect(await as(2).findWorker(task)).toMatchObject({ pid: 1 });
  });

  it("creates a part when that process is dead, and leaves its part as it is", async () => {
    const { ledger, as, processes, open } = await ledgerWorld(2);
    const begun = await begunTask(ledger);
    await begun.file.record(accepted);
    processes.die(1);
    const owned = await taken(as(2), begun.task.id);
    expect(owned).toMatchObject({ part: 2, task: { parts: 2, state: "accepted" } });
    await owned.file.record(completed);
    expect(await typesIn(begun.file.path)).toEqual(["intent", "accepted"]);
    expect(await typesIn(owned.file.path)).toEqual(["taken", "completed"]);
    expect(await readdir(open)).toEqual([`${begun.task.id}.jsonl`]);
    expect(await as(2).read(begun.task.id)).toMatchObject({ task: { state: "completed", parts: 2 } });
  });

  it("goes by how far the task has come by now, not when it was listed", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const { task, file } = await begunTask(ledger);
    await file.record(accepted);
    processes.die(1);
    expect(await take(as(2), task)).toMatchObject({ task: { state: "accepted" } });
  });

  it("is for one of two that find its process dead", async () => {
    for (let round = 0; round < 10; round++) {
      const { ledger, as, processes } = await ledgerWorld(2, 3);
      const { task } = await begunTask(ledger);
      processes.die(1);
      const results = await Promise.all([take(as(2), task), take(as(3), task)]);
      expect(results.filter((result) => result === "claimed")).toHaveLength(1);
    }
  });

  it("is possible again when the taker has released it, or is dead itself", async () => {
    const { ledger, as, processes } = await ledgerWorld(2, 3, 4);
    const { task } = await begunTask(ledger);
    processes.die(1);
    as(2).release(await taken(as(2), task.id), true);
    expect(await taken(as(3), task.id)).toMatchObject({ part: 3 });
    expect(await take(as(4), task)).toBe("claimed");
    processes.die(3);
    expect(await taken(as(4), task.id)).toMatchObject({ part: 4 });
  });

  it("goes on in the last part if that is the process's own", async () => {
    const { ledger, as } = await ledgerWorld(2);
    const begun = await begunTask(ledger);
    ledger.release(begun, true);
    const again = await taken(ledger, begun.task.id);
    expect(again).toMatchObject({ part: 1, task: { parts: 1, holder: begun.task.holder } });
    ledger.release(again, true);
    expect(await typesIn(begun.file.path)).toEqual(["intent", "released", "taken", "released"]);
    expect(await taken(as(2), begun.task.id)).toMatchObject({ part: 2 });
    expect(ledger.hasLastPart(begun)).toBe(false);
  });

  it("is possible again even if the disk reports an error when the file is closed", async () => {
    const { ledger, as, processes } = await ledgerWorld(2, 3);
    const { task } = await begunTask(ledger);
    processes.die(1);
    const second = as(2);
    const owned = await taken(second, task.id);
    vi.spyOn(owned.file, "close").mockImplementationOnce(() => {
      throw new Error("EDQUOT");
    });
    expect(() => second.release(owned, false)).toThrow("EDQUOT");
    await taken(as(3), task.id);
  });

  it("goes on after a process that was killed before its part had a whole line", async () => {
    const { ledger, as, processes, state } = await ledgerWorld(2);
    const { task } = await begunTask(ledger, {}, started);
    processes.die(1);
    await plant(path.join(state, "tasks/parts/2026-01-31/1200"), `${task.id}.2.jsonl`, '{"type":"ta');
    expect(await taken(as(2), task.id)).toMatchObject({ part: 3, task: { state: "started" } });
  });

  it("leaves an intent alone that a killed process has left of a task that another one has finished", async () => {
    const { ledger, as, open } = await ledgerWorld(2);
    const owned = await begunTask(ledger, {}, started, refused);
    await finishTask(ledger, owned);
    await plant(open, `${owned.task.id}.jsonl`, linesOf({ ...intent, holder: "" }));
    expect(await take(as(2), owned.task)).toBe("ended");
  });
});

describe("a process that was stopped", () => {
  /** A task whose process was stopped after these lines, until its time was over. */
  async function stopped(...lines: Line[]) {
    const world = await ledgerWorld(2);
    const owned = await begunTask(world.ledger, {}, ...lines);
    expect(world.ledger.hasLastPart(owned)).toBe(true);
    world.clock.advance(60_000);
    return { ...world, owned, other: world.as(2), id: owned.task.id };
  }

  it("has lost a task that another one has taken, and ends nothing", async () => {
    const { ledger, owned, other, id, open } = await stopped(started, accepted);
    await taken(other, id);
    expect(ledger.hasLastPart(owned)).toBe(false);
    expect(await ledger.end(owned, owned.task)).toBe(false);
    expect(await readdir(open)).toEqual([`${id}.jsonl`]);
  });

  it("has lost a task that another one has finished since, or whose file was replaced", async () => {
    const { ledger, owned, other, id } = await stopped(started, refused);
    await finishTask(other, await taken(other, id));
    expect(ledger.hasLastPart(owned)).toBe(false);
    const copied = await stopped();
    await writeFile(`${copied.owned.file.path}.new`, "");
    await rename(`${copied.owned.file.path}.new`, copied.owned.file.path);
    expect(copied.ledger.hasLastPart(copied.owned)).toBe(false);
  });

  it("has a further part's task no longer once the first part is moved", async () => {
    const { as, processes, owned, other, id } = await stopped(started, refused);
    const second = await taken(other, id);
    expect(other.hasLastPart(second)).toBe(true);
    processes.die(2);
    await as(3).files.moveToDone(owned.task);
    expect(other.hasLastPart(second)).toBe(false);
  });

  it("withdraws nothing that another one has taken, and what it withdraws is not sent", async () => {
    const { ledger, owned, other, id } = await stopped();
    await taken(other, id);
    await ledger.withdraw(owned);
    expect(await ledger.read(id)).toMatchObject({ task: { state: "not_sent", parts: 2 } });
  });

  it("still records an answer, which reopens a task that was finished meanwhile", async () => {
    const { ledger, owned, other, id } = await stopped(started);
    const second = await taken(other, id);
    for (const line of [unknown, dismissed]) await second.file.record(line);
    await finishTask(other, second);
    expect(await ledger.reopenIfAnswered(id)).toBe(false);
    expect(ledger.isOpen(id)).toBe(false);
    await owned.file.record(accepted);
    expect(await ledger.reopenIfAnswered(id)).toBe(true);
    expect(await ledger.unfinished()).toMatchObject([{ task: { id, state: "accepted", parts: 2 } }]);
    ledger.release(owned, false);
    expect(await taken(other, id)).toMatchObject({ task: { state: "accepted" } });
  });

  it("reopens it with the very answer by which it finds out that it has lost the task", async () => {
    const { ledger, owned, other, id } = await stopped(started);
    const held = new ClaimedTask(ledger, { ...owned, task: withLine(owned.task, started) }, () => {});
    const second = await taken(other, id);
    for (const line of [unknown, dismissed]) await second.file.record(line);
    await finishTask(other, second);
    expect(await held.record(accepted)).toBe(true);
    expect(await ledger.unfinished()).toMatchObject([{ task: { id, state: "accepted" } }]);
    expect(held.isLost).toBe(true);
    await held.release();
    expect(ledger.isOpen(id)).toBe(true);
  });

  it("is heard by the one that ends the task at the same time", async () => {
    const { owned, other, id } = await stopped(started);
    const second = await taken(other, id);
    for (const line of [unknown, dismissed]) await second.file.record(line);
    const entry = await other.read(id);
    await owned.file.record(accepted);
    await other.work.begin(id, 0, "1.0");
    if (entry?.kind === "task") await other.end(second, entry.task);
    expect(await other.unfinished()).toMatchObject([{ task: { id, state: "accepted" } }]);
    expect(await readdir(other.work.folder)).toEqual([id]);
  });
});

it("isOpen throws an error that names the folder if the disk cannot be read", async () => {
  const { ledger } = await ledgerWorld();
  expect(() => ledger.isOpen("a\0")).toThrow(
    expect.objectContaining({ name: "StateFolderError", message: expect.stringContaining(ledger.folder) }),
  );
});

it("a task that is withdrawn leaves nothing, and is held by nobody", async () => {
  const { ledger, open } = await ledgerWorld();
  const owned = await begunTask(ledger);
  await ledger.withdraw(owned);
  expect(await readdir(open)).toEqual([]);
  expect([await ledger.read(owned.task.id), ledger.isClaimed(owned.task)]).toEqual([null, false]);
});

describe("finishing a task", () => {
  it("moves its first part to its day and minute, and leaves nothing behind", async () => {
    const { ledger, as, processes, open, state } = await ledgerWorld(2);
    const { task } = await begunTask(ledger, {}, started, refused);
    processes.die(1);
    await finishTask(as(2), await taken(as(2), task.id));
    expect(await readdir(open)).toEqual([]);
    const minute = path.join(state, "tasks", "done", "2026-01-31", "1200");
    const [name = "", ...others] = await readdir(minute);
    expect([name.startsWith(`${task.id}.p2.`), others]).toEqual([true, []]);
    expect(await typesIn(path.join(minute, name))).toEqual(["intent", "started", "refused"]);
    expect(await as(2).read(task.id)).toMatchObject({ task: { state: "refused", parts: 2 } });
  });

  it("removes what its provider has sent, and marks and sums of it", async () => {
    const { ledger } = await ledgerWorld();
    const owned = await begunTask(ledger, {}, started, refused);
    const { id } = owned.task;
    await ledger.work.begin(id, 0, "1.0");
    await ledger.cancels.add(id);
    const { keyId } = INTENT.service;
    await ledger.spending.announce("2026-01-31", { task: id, request: 0, part: 1, keyId, credits: 2 }, null);
    await finishTask(ledger, owned);
    expect([await readdir(ledger.work.folder), ledger.cancels.has(id)]).toEqual([[], false]);
    expect(await ledger.spending.total("2026-01-31", keyId)).toBe(0);
  });

  it("that is in neither place any longer is left to whoever has removed it", async () => {
    const { ledger } = await ledgerWorld();
    const owned = await begunTask(ledger);
    await rm(owned.file.path);
    expect(await ledger.end(owned, owned.task)).toBe(false);
  });

  it("can be undone", async () => {
    const { ledger, as } = await ledgerWorld(2);
    const owned = await begunTask(ledger, {}, started, accepted, LINES.failed);
    await finishTask(ledger, owned);
    await ledger.reopen(owned.task.id);
    await ledger.reopen(owned.task.id);
    expect(await ledger.unfinished()).toMatchObject([{ task: { id: owned.task.id, state: "failed" } }]);
    expect(await taken(as(2), owned.task.id)).toMatchObject({ part: 2 });
  });
});

describe("a task of a process that has ended", () => {
  it("is of unknown outcome if it was sent, and stands as it did otherwise", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const work = { ...WORK, requests: 2 };
    const { task } = await begunTask(ledger, work, started);
    const states = async () => {
      const entry = await as(2).read(task.id);
      if (entry?.kind !== "task") throw new Error(entry?.kind);
      const { state, requests } = await as(2).withLostReplies(entry.task);
      return [state, ...requests.map((each) => each.state)];
    };
    expect(await states()).toEqual(["started", "started", "waiting"]);
    processes.die(1);
    expect(await states()).toEqual(["waiting", "unknown", "waiting"]);
    await ledger.work.begin(task.id, 0, "1.0");
    expect(await states()).toEqual(["waiting", "unknown", "waiting"]);
    await writeFile(path.join(ledger.work.attemptFolder(task.id, 0, "1.0"), ".job"), "something");
    expect(await states()).toEqual(["started", "started", "waiting"]);
  });

  it("is known by what that wrote last, had that gone on before it ended", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const { task, file } = await begunTask(ledger, {}, started);
    const before = await as(2).find(task.id);
    await file.record(refused);
    processes.die(1);
    expect(before?.state).toBe("started");
    expect(await as(2).withLostReplies(before as Task)).toMatchObject({ state: "refused" });
  });

  it("that is free is not lost", async () => {
    const { ledger, as, processes } = await ledgerWorld(2);
    const { task } = await begunTask(ledger, { ...WORK, isPaid: false }, started);
    processes.die(1);
    expect(as(2).lostReplyLines((await as(2).find(task.id)) as Task)).toEqual([]);
  });
});

describe("the unfinished tasks", () => {
  it("come oldest first, each once", async () => {
    const { ledger, as, clock, processes } = await ledgerWorld(2);
    const first = await begunTask(ledger);
    clock.advance(1);
    const second = await begunTask(ledger);
    processes.die(1);
    await taken(as(2), first.task.id);
    expect((await ledger.unfinished()).map(idOf)).toEqual([first.task.id, second.task.id]);
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

it("tasks by their ids are found in one pass, unfinished and finished, by either id; the newest counts", async () => {
  const { ledger, clock } = await ledgerWorld();
  const tasks = [];
  for (const taskId of ["task-1", "task-2", "task-1"]) {
    tasks.push(await begunTask(ledger, {}, { ...LINES.accepted, taskId }));
    clock.advance(1000);
  }
  const [first, second, third] = tasks.map(({ task }) => task.id);
  if (tasks[1]) await finishTask(ledger, tasks[1]);
  const found = await ledger.findByIds(["task-1", "task-2", first ?? "", "task-9"]);
  expect([...found].map(([id, task]) => [id, task.id]).sort()).toEqual(
    [
      ["task-1", third],
      ["task-2", second],
      [first, first],
    ].sort(),
  );
});

describe("all tasks, newest first,", () => {
  it("are the unfinished and the finished in one order", async () => {
    const { ledger, clock } = await ledgerWorld();
    const ids: string[] = [];
    for (let at = 0; at < 8; at++) {
      const task = await begunTask(ledger);
      ids.unshift(task.task.id);
      if (at % 3 !== 0) await finishTask(ledger, task);
      clock.advance(9 * 3_600_000);
    }
    expect((await all(ledger.tasksNewestFirst())).map(idOf)).toEqual(ids);
  });

  it("are read only as far as they are asked for", async () => {
    const { ledger, clock } = await ledgerWorld();
    for (let at = 0; at < 3; at++) {
      await finishTask(ledger, await begunTask(ledger));
      clock.advance(1000);
    }
    const files = (await all(ledger.tasksNewestFirst())).map(({ file }) => file);
    const entries = ledger.tasksNewestFirst();
    await entries.next();
    for (const file of files) await writeFile(file, "garbage\n");
    expect(await entries.next()).toMatchObject({ value: { kind: "damaged", file: files[1] } });
    await entries.return(undefined);
  });

  it("are none where there is no ledger, or a file in its place", async () => {
    const { ledger, state } = await ledgerWorld();
    expect(await all(ledger.tasksNewestFirst())).toEqual([]);
    await plant(state, "tasks", "");
    expect(await all(ledger.tasksNewestFirst())).toEqual([]);
  });

  it("are not disturbed by strange files among the finished", async () => {
    const { ledger } = await ledgerWorld();
    const task = await begunTask(ledger);
    await finishTask(ledger, task);
    await plant(path.join(ledger.folder, "done"), ".DS_Store", "");
    await plant(path.join(ledger.folder, "done", "2026-01-31"), ".DS_Store", "");
    for (const name of [".DS_Store", "Thumbs.db", "notes.txt"])
      await plant(path.join(ledger.folder, "done", "2026-01-31", "1200"), name, "");
    const entries = await all(ledger.tasksNewestFirst());
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

  const finishedWith = async (ledger: Ledger, ...lines: Line[]) =>
    (await leftTask(ledger, {}, ...lines)).task.id;

  it("opens no finished task's file but the one that it finds", async () => {
    const { ledger, clock } = await ledgerWorld();
    await finishedWith(ledger, accepted, completed, saved);
    clock.advance(60_000);
    await finishedWith(ledger, { ...accepted, taskId: "task-2" }, completed, saved);
    const [newest] = await all(ledger.tasksNewestFirst());
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
    const { task } = await begunTask(ledger, {}, accepted);
    const found = ledger.findSameRequest({ ...INTENT, request: { model: "gamma-image-2", prompt: "a fox" } });
    expect((await all(found)).map(({ id }) => id)).toEqual([task.id, older]);
    const recent = ledger.findSameRequest(INTENT, clock.now() - 30_000);
    expect((await all(recent)).map(({ id }) => id)).toEqual([task.id]);
    // Systems put hidden files into any folder, here into that of a later minute.
    await plant(path.join(state, "tasks/done/2026-01-31/2359"), ".DS_Store", "");
    const despite = ledger.findSameRequest(INTENT);
    expect((await all(despite)).map(({ id }) => id)).toEqual([task.id, older]);
    const since = ledger.findSameRequest(INTENT, clock.now() - 3_600_000);
    expect((await all(since)).map(({ id }) => id)).toEqual([task.id, older]);
    const service = { ...INTENT.service, keyId: "fedcba9876543210" };
    expect((await ledger.findSameRequest({ ...INTENT, service }).next()).done).toBe(true);
  });
});
