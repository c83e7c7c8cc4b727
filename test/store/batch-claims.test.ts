import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BatchClaims } from "../../src/store/batch-claims.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import { formatLine } from "../../src/store/task-file.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { EVENTS } from "../support/records.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const BATCH = "0123456789abcdef";
const ROW = `${"a".repeat(32)}-1`;
const OTHER = `${"b".repeat(32)}-1`;
const ID = "20260131T120000000-00000001";
const LATER = "20260131T120000001-00000002";

/** The claims of one batch, as several processes see them. */
async function newClaims() {
  const clock = fakeClock();
  const ledger = path.join(await temporaryFolder(), "tasks");
  return {
    clock,
    as: () => new BatchClaims(ledger, BATCH, clock),
    folder: path.join(ledger, "batches", BATCH),
    ledger,
  };
}

describe("claiming an attempt at a row", () => {
  it("gives it to the first process, and tells all others which task has it", async () => {
    const { as } = await newClaims();
    expect(await as().claim(ROW, 1, ID)).toBe(ID);
    expect(await as().claim(ROW, 1, LATER)).toBe(ID);
  });

  it("gives the same task to all of many that claim at once", async () => {
    for (let round = 0; round < 20; round++) {
      const { as } = await newClaims();
      const ids = Array.from({ length: 8 }, (_, index) => `20260131T120000000-0000000${index}`);
      const winners = await Promise.all(ids.map((id) => as().claim(ROW, 1, id)));
      expect(new Set(winners).size).toBe(1);
      expect(ids).toContain(winners[0]);
      expect([...(await as().load()).values()]).toEqual([[winners[0]]]);
    }
  });

  it("keeps rows, attempts and batches apart", async () => {
    const { as, ledger } = await newClaims();
    await as().claim(ROW, 1, ID);
    expect(await as().claim(OTHER, 1, LATER)).toBe(LATER);
    expect(await as().claim(ROW, 2, LATER)).toBe(LATER);
    expect(await new BatchClaims(ledger, "fedcba9876543210", fakeClock()).claim(ROW, 1, LATER)).toBe(LATER);
  });

  it("writes a file for its owner only, whole, and leaves nothing else", async () => {
    const { as, folder } = await newClaims();
    await as().claim(ROW, 1, ID);
    await as().claim(ROW, 1, LATER);
    expect(await readdir(folder)).toEqual([`${ROW}.1`]);
    const file = path.join(folder, `${ROW}.1`);
    expect(await readFile(file, "utf8")).toBe(`${ID}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("refuses a state folder that cannot be written, and says that nothing was sent", async () => {
    const file = path.join(await temporaryFolder(), "file");
    await writeFile(file, "");
    const error = await new BatchClaims(file, BATCH, fakeClock())
      .claim(ROW, 1, ID)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StateFolderError);
    expect(error).toMatchObject({
      type: "save_failed",
      charged: "no",
      message: expect.stringContaining(file),
    });
  });
});

describe("an attempt that is claimed with a task's file", () => {
  async function draftOf(folder: string, line: string): Promise<string> {
    const draft = path.join(folder, "draft");
    await writeFile(draft, line);
    return draft;
  }

  it("is the task's that is named in its first line", async () => {
    const { as } = await newClaims();
    const draft = await draftOf(await temporaryFolder(), `${JSON.stringify({ id: ID })}\n{"type":"acc`);
    expect(await as().attempt(ROW, 1).take(draft)).toBe(true);
    expect(await as().owner(ROW, 1)).toBe(ID);
    expect(await as().load()).toEqual(new Map([[ROW, [ID]]]));
  });

  it("is free for the first only, however it was claimed", async () => {
    const { as } = await newClaims();
    const draft = await draftOf(await temporaryFolder(), `${JSON.stringify({ id: LATER })}\n`);
    expect(await as().claim(ROW, 1, ID)).toBe(ID);
    expect(await as().attempt(ROW, 1).take(draft)).toBe(false);
    expect(await as().attempt(ROW, 2).take(draft)).toBe(true);
    expect(await as().claim(ROW, 2, ID)).toBe(LATER);
  });

  it("is known to all processes as shared once one has marked it, however often", async () => {
    const { as } = await newClaims();
    await as().claim(ROW, 1, ID);
    expect(as().attempt(ROW, 1).isShared()).toBe(false);
    await as().share(ROW, 1);
    await as().share(ROW, 1);
    expect(as().attempt(ROW, 1).isShared()).toBe(true);
    expect(as().attempt(ROW, 2).isShared()).toBe(false);
    expect(await as().load()).toEqual(new Map([[ROW, [ID]]]));
  });

  it("and was damaged since is given as its path, so that the row never counts as not begun", async () => {
    const isGiven = async (damage: string) => {
      const { as, folder } = await newClaims();
      await as().claim(OTHER, 1, ID);
      const file = path.join(folder, `${ROW}.1`);
      await writeFile(file, damage);
      expect(await as().owner(ROW, 1), damage).toBe(file);
      expect(await as().claim(ROW, 1, LATER), damage).toBe(file);
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
});

describe("loading a batch's claims", () => {
  it("finds none where nothing was ever begun, and makes no folder for that", async () => {
    const { as, ledger } = await newClaims();
    expect(await as().load()).toEqual(new Map());
    await expect(stat(ledger)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("lists every row's tasks, first attempt first, however many there are", async () => {
    const { as } = await newClaims();
    const ids = Array.from({ length: 12 }, (_, index) => `20260131T1200000${10 + index}-00000001`);
    for (const [index, id] of ids.entries()) await as().claim(ROW, index + 1, id);
    await as().claim(OTHER, 1, ID);
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
    expect(await as().claim(ROW, 1, LATER)).toBe(LATER);
    expect(await as().load()).toEqual(new Map([[ROW, [LATER]]]));
  });

  it("removes nothing; the next claim removes what a killed process left once it is old, and nothing else", async () => {
    const { as, folder, clock } = await newClaims();
    await as().claim(ROW, 1, ID);
    const minutesAgo = (minutes: number) => new Date(clock.now() - minutes * 60_000);
    const files = { [`.${ROW}.1.0a1b2c3d`]: 11, [`.${ROW}.2.4e5f6071`]: 9, ".notes": 11, [`${ROW}.1`]: 11 };
    for (const [name, age] of Object.entries(files)) {
      await writeFile(path.join(folder, name), "", { flag: "a" });
      await utimes(path.join(folder, name), minutesAgo(age), minutesAgo(age));
    }
    const claims = as();
    await claims.load();
    expect((await readdir(folder)).sort()).toEqual(Object.keys(files).sort());
    await claims.claim(ROW, 2, LATER);
    const left = [".notes", `.${ROW}.2.4e5f6071`, `${ROW}.1`, `${ROW}.2`];
    expect((await readdir(folder)).sort()).toEqual(left.sort());
  });

  it("passes over files that are no claims", async () => {
    const { as, folder } = await newClaims();
    await as().claim(ROW, 1, ID);
    for (const name of ["notes.txt", ROW, `${ROW}.1~`, `${ROW}.x`])
      await writeFile(path.join(folder, name), "");
    expect(await as().load()).toEqual(new Map([[ROW, [ID]]]));
  });

  it("says so where the folder cannot be read", async () => {
    const { as, folder } = await newClaims();
    await mkdir(path.join(folder, `${ROW}.1`), { recursive: true });
    await expect(as().load()).rejects.toBeInstanceOf(StateFolderError);
  });
});

describe("a claim whose task the ledger has no more", () => {
  const intent = formatLine({ ...EVENTS.intent, id: ID });

  it.each([
    ["says what became of it", [intent, formatLine(EVENTS.accepted)], { kind: "task" }],
    ["is of one that was never begun where it holds the intent alone", [intent], null],
    ["does not know where it is a copy", [intent, '{"type":"copy"}\n'], { kind: "lost" }],
    ["does not know where it holds a name alone", [`${ID}\n`], { kind: "lost" }],
    ["does not know where it was damaged", ["{\n"], { kind: "lost" }],
  ])("%s", async (_what, lines, expected) => {
    const { as, folder } = await newClaims();
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, `${ROW}.1`), lines.join(""));
    const read = await as().read(ROW, 1);
    if (expected === null) expect(read).toBeNull();
    else expect(read).toMatchObject({ ...expected, file: path.join(folder, `${ROW}.1`) });
  });
});
