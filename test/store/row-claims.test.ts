import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  attemptName,
  hasRowOutcome,
  RowClaims,
  recordRowBegun,
  recordRowOutcome,
} from "../../src/store/row-claims.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import { summaryLines } from "../../src/task/task.ts";
import { finishTask } from "../support/finish-task.ts";
import { begunTask, ledgerWorld } from "../support/ledger-world.ts";
import { AT, INTENT, LINES, linesOf, recordOf } from "../support/records.ts";
import { countSyncs } from "../support/system-calls.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const BATCH = "0123456789abcdef";
const ROW = `${"a".repeat(32)}-1`;
const OTHER = `${"b".repeat(32)}-1`;
const ID = "20260131T120000000-00000001";
const LATER = "20260131T120000001-00000002";

/** What a row is claimed for: a task with its intent. */
const taskOf = (id: string) => ({ id, intent: INTENT, at: AT });

/** The claims of one batch, as several processes see them. */
async function newClaims() {
  const ledger = path.join(await temporaryFolder(), "tasks");
  return { as: () => new RowClaims(ledger, BATCH), folder: path.join(ledger, "batches", BATCH), ledger };
}

describe("claiming an attempt at a row", () => {
  it("gives it to the first process, and tells all others which task has it", async () => {
    const { as } = await newClaims();
    expect(await as().claim(ROW, 1, taskOf(ID))).toBe(ID);
    expect(await as().claim(ROW, 1, taskOf(LATER))).toBe(ID);
  });

  it("gives the same task to all of many that claim at once", async () => {
    for (let round = 0; round < 20; round++) {
      const { as } = await newClaims();
      const ids = Array.from({ length: 8 }, (_, index) => `20260131T120000000-0000000${index}`);
      const winners = await Promise.all(ids.map((id) => as().claim(ROW, 1, taskOf(id))));
      expect(new Set(winners).size).toBe(1);
      expect(ids).toContain(winners[0]);
      expect([...(await as().load()).values()]).toEqual([[winners[0]]]);
    }
  });

  it("keeps rows, attempts and batches apart", async () => {
    const { as, ledger } = await newClaims();
    await as().claim(ROW, 1, taskOf(ID));
    expect(await as().claim(OTHER, 1, taskOf(LATER))).toBe(LATER);
    expect(await as().claim(ROW, 2, taskOf(LATER))).toBe(LATER);
    expect(await new RowClaims(ledger, "fedcba9876543210").claim(ROW, 1, taskOf(LATER))).toBe(LATER);
  });

  it("writes a file for its owner only, whole, and leaves nothing else", async () => {
    const { as, folder } = await newClaims();
    await as().claim(ROW, 1, taskOf(ID));
    await as().claim(ROW, 1, taskOf(LATER));
    expect(await readdir(folder)).toEqual([`${ROW}.1`]);
    const file = path.join(folder, `${ROW}.1`);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ ...LINES.intent, id: ID, holder: "" });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("holds an id alone for a task that another command has begun", async () => {
    const { as, folder } = await newClaims();
    await as().claim(ROW, 1, { ...taskOf(ID), intent: null });
    expect(await readFile(path.join(folder, `${ROW}.1`), "utf8")).toBe(`${ID}\n`);
    expect([await as().findTaskId(ROW, 1), await as().claim(ROW, 1, taskOf(LATER))]).toEqual([ID, ID]);
  });

  it("refuses a state folder that cannot be written, and says that nothing was sent", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "");
    await expect(new RowClaims(file, BATCH).claim(ROW, 1, taskOf(ID))).rejects.toMatchObject({
      type: "save_failed",
      charged: "no",
      message: expect.stringContaining(file),
    });
  });
});

it("an attempt that is claimed and was damaged since, is given as its path, so that the row never counts as not begun", async () => {
  const isGiven = async (damage: string) => {
    const { as, folder } = await newClaims();
    await as().claim(OTHER, 1, taskOf(ID));
    const file = path.join(folder, `${ROW}.1`);
    await writeFile(file, damage);
    expect(await as().findTaskId(ROW, 1), damage).toBe(file);
    expect(await as().claim(ROW, 1, taskOf(LATER)), damage).toBe(file);
    expect(await as().load(), damage).toEqual(
      new Map([
        [ROW, [file]],
        [OTHER, [ID]],
      ]),
    );
  };
  // All at once, because some are waited for: they could be lines that another process has not finished.
  const damages = [
    '{"type":"intent"}\n',
    '{"type":"intent","v":1,',
    '{"id":"../x"}\n',
    "\0\0\0\0",
    "",
    "notes\n",
  ];
  await Promise.all(damages.map(isGiven));
});

describe("loading a batch's claims", () => {
  it("lists every row's tasks, first attempt first, however many there are", async () => {
    const { as } = await newClaims();
    const ids = Array.from({ length: 12 }, (_, index) => `20260131T1200000${10 + index}-00000001`);
    for (const [index, id] of ids.entries()) await as().claim(ROW, index + 1, taskOf(id));
    await as().claim(OTHER, 1, taskOf(ID));
    expect(await as().load()).toEqual(
      new Map([
        [ROW, ids],
        [OTHER, [ID]],
      ]),
    );
  });

  it("passes over what a process left that was killed while it claimed, and the row is free", async () => {
    const { as, folder } = await newClaims();
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, `.${ROW}.1.0a1b2c3d`), ID.slice(0, 5));
    await writeFile(path.join(folder, `.${ROW}.1.4e5f6071`), "");
    expect(await as().load()).toEqual(new Map());
    expect(await as().claim(ROW, 1, taskOf(LATER))).toBe(LATER);
    expect(await as().load()).toEqual(new Map([[ROW, [LATER]]]));
  });

  it("removes nothing; the next claim removes what a killed process left once it is old, and nothing else", async () => {
    const { as, folder } = await newClaims();
    await as().claim(ROW, 1, taskOf(ID));
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const files = { [`.${ROW}.1.0a1b2c3d`]: 11, [`.${ROW}.2.4e5f6071`]: 9, ".notes": 11, [`${ROW}.1`]: 11 };
    for (const [name, age] of Object.entries(files)) {
      await writeFile(path.join(folder, name), "", { flag: "a" });
      await utimes(path.join(folder, name), minutesAgo(age), minutesAgo(age));
    }
    const claims = as();
    await claims.load();
    expect((await readdir(folder)).sort()).toEqual(Object.keys(files).sort());
    await claims.claim(ROW, 2, taskOf(LATER));
    const left = [".notes", `.${ROW}.2.4e5f6071`, `${ROW}.1`, `${ROW}.2`];
    expect((await readdir(folder)).sort()).toEqual(left.sort());
  });

  it("says so where the folder cannot be read", async () => {
    const { as, folder } = await newClaims();
    await mkdir(path.join(folder, `${ROW}.1`), { recursive: true });
    await expect(as().load()).rejects.toBeInstanceOf(StateFolderError);
  });
});

it("the attempts that are claimed by now are listed, without those that are known", async () => {
  const { as } = await newClaims();
  expect(await as().list(() => false)).toEqual([]);
  await as().claim(ROW, 1, taskOf(ID));
  await as().claim(ROW, 2, taskOf(LATER));
  expect(await as().list((name) => name === attemptName(ROW, 1))).toEqual([
    { name: attemptName(ROW, 2), row: ROW, number: 2 },
  ]);
});

describe("a claim whose task the ledger lacks", () => {
  const first = { ...LINES.intent, id: ID, holder: "" };
  const begun = '{"type":"begun"}\n';

  it.each<[string, string, object | null]>([
    ["says that nothing was sent while it holds the intent alone", linesOf(first), null],
    ["says so too if the next line was cut short", `${linesOf(first)}{"type":"beg`, null],
    [
      "does not know what became of a task that was begun",
      linesOf(first) + begun,
      { kind: "lost", task: { id: ID } },
    ],
    ["knows that by a line after one that was cut short", `${linesOf(first)}{"ty${begun}`, { kind: "lost" }],
    [
      "says how its task has ended",
      `${linesOf(first)}${begun}\n${linesOf(LINES.started, LINES.refused)}`,
      { kind: "task", task: { id: ID, state: "refused" } },
    ],
    [
      "goes by the last end of a task that was reopened",
      `${linesOf(first)}${begun}\n${linesOf(LINES.started, LINES.unknown, LINES.dismissed)}\n${linesOf(LINES.completed, LINES.saved)}`,
      { kind: "task", task: { state: "saved" } },
    ],
    ["does not know if it holds a name alone", `${ID}\n`, { kind: "lost", task: null }],
    ["does not know if it was damaged", "{\n", { kind: "lost", task: null }],
    [
      "does not know if its intent was damaged",
      `${JSON.stringify({ id: ID })}\n`,
      { kind: "lost", task: null },
    ],
  ])("%s", async (_what, content, expected) => {
    const { as, folder } = await newClaims();
    await mkdir(folder, { recursive: true });
    const file = path.join(folder, `${ROW}.1`);
    await writeFile(file, content);
    const read = await as().read(ROW, 1);
    if (expected === null) expect(read).toBeNull();
    else expect(read).toMatchObject({ ...expected, file });
  });
});

describe("what becomes of a claim's task", () => {
  it("is written into the claim: that it is sent, and how it has ended", async () => {
    const { as, ledger } = await newClaims();
    await as().claim(ROW, 1, taskOf(ID));
    const claim = as().claimName(ROW, 1);
    expect([await hasRowOutcome(ledger, claim, ID), await as().read(ROW, 1)]).toEqual([false, null]);
    await recordRowBegun(ledger, claim);
    await recordRowBegun(ledger, claim);
    expect([await hasRowOutcome(ledger, claim, ID), (await as().read(ROW, 1))?.kind]).toEqual([
      false,
      "lost",
    ]);
    recordRowOutcome(
      ledger,
      claim,
      summaryLines(recordOf([LINES.started, LINES.accepted, LINES.completed, LINES.saved])),
    );
    expect(await hasRowOutcome(ledger, claim, ID)).toBe(true);
    expect(await as().read(ROW, 1)).toMatchObject({ task: { state: "saved", claim: null } });
    expect(await as().findTaskId(ROW, 1)).toBe(ID);
  });

  it("has its first line synced before a request is sent", async () => {
    const { as, ledger } = await newClaims();
    await as().claim(ROW, 1, taskOf(ID));
    const syncs = countSyncs();
    await recordRowBegun(ledger, as().claimName(ROW, 1));
    expect(syncs()).toBeGreaterThanOrEqual(1);
  });

  it("is recorded by the ledger when it ends the task, before its file is moved", async () => {
    const { ledger, state, open } = await ledgerWorld();
    const claims = new RowClaims(path.join(state, "tasks"), BATCH);
    await claims.claim(ROW, 1, taskOf(ID));
    const owned = await ledger.begin(INTENT, { id: ID, isShared: true, claim: claims.claimName(ROW, 1) });
    if (owned === "taken") throw new Error("taken");
    for (const line of [LINES.started, LINES.refused]) await owned.file.record(line);
    await mkdir(path.join(state, "tasks", "done"), { mode: 0o700 });
    await writeFile(path.join(state, "tasks", "done", "2026-01-31"), "in the way");
    await expect(finishTask(ledger, owned)).rejects.toThrow();
    expect(await readdir(open)).toEqual([`${ID}.jsonl`]);
    expect(await claims.read(ROW, 1)).toMatchObject({ kind: "task", task: { state: "refused" } });
  });

  it("is lost with a claim that was removed, which keeps no task from its end", async () => {
    const { ledger } = await ledgerWorld();
    const owned = await begunTask(ledger, {}, LINES.started, LINES.refused);
    const name = `${BATCH}/${ROW}.1`;
    expect(() => recordRowOutcome(ledger.folder, name, [])).not.toThrow();
    await expect(recordRowBegun(ledger.folder, name)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(hasRowOutcome(ledger.folder, name, owned.task.id)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is written nowhere else, whatever a task's file names as its claim", async () => {
    const { ledger } = await newClaims();
    for (const name of ["../../x", `${BATCH}/../x`, `${BATCH}/${ROW}`, "", `/${BATCH}/${ROW}.1`]) {
      expect(() => recordRowOutcome(ledger, name, [])).toThrow("not a claim");
      await expect(recordRowBegun(ledger, name)).rejects.toThrow("not a claim");
      await expect(hasRowOutcome(ledger, name, ID)).rejects.toThrow("not a claim");
    }
  });
});
