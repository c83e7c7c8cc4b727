import { mkdir, readdir, realpath, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import {
  findMisplaced,
  planWithFiles,
  prepareFolders,
  rowDestination,
} from "../../../src/core/batch/row-files.ts";
import { SaveFailedError } from "../../../src/core/errors.ts";
import { RowClaims } from "../../../src/store/row-claims.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { AT, LINES } from "../../support/records.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { newRow, newRows } from "./some-rows.ts";

async function newPlace() {
  const root = await realpath(await temporaryFolder());
  const folder = path.join(root, "out");
  await mkdir(folder);
  return { root, place: { folder, template: "{slug}.{ext}", overwrite: false } };
}

const named = (...outputs: (string | null)[]): PlannedRow[] =>
  newRows(...outputs.map((_, index) => `fox ${index}`)).map((row, index) => ({
    ...row,
    output: outputs[index] ?? null,
  }));

describe("a file that another process saves for a row just as the batch is planned", () => {
  it("blocks no other row", async () => {
    const { place } = await newPlace();
    const { ledger } = await ledgerWorld();
    const claims = new RowClaims(ledger.folder, "0123456789abcdef");
    const rows = named("fox.png");
    const saveElsewhere = async (key: string) => {
      const { started, accepted, completed, saved } = LINES;
      const { task } = await leftTask(ledger, {}, started, accepted, completed, saved);
      await claims.claim(key, 1, { id: task.id, intent: null, at: AT });
      await writeFile(path.join(place.folder, "fox.png"), "");
    };
    let loads = 0;
    const load = async () => {
      const before = await claims.load();
      if (loads++ === 0) await saveElsewhere(rows[0]?.key ?? "");
      return before;
    };
    const deps = {
      claims: Object.assign(Object.create(claims), { load }),
      ledger,
      resubmitUnknown: false,
      retryFailed: false,
      countsKey: null,
    };
    const { plan, misplaced } = await planWithFiles(rows, place, deps);
    expect(misplaced).toEqual([]);
    expect(plan.rows).toMatchObject([{ state: "saved" }]);
    expect(plan.toSubmit.rows).toBe(0);
  });
});

describe("a row's output", () => {
  it("is in its place where nothing is there yet", async () => {
    const { place } = await newPlace();
    await mkdir(path.join(place.folder, "a"));
    expect(await findMisplaced(named(null, "fox.png", "a/fox.png", "..fox/b/fox.png"), place)).toEqual([]);
  });

  it.each(["file", "folder", "link that leads nowhere"])("is not where a %s has its name", async (kind) => {
    const { place } = await newPlace();
    const target = path.join(place.folder, "fox.png");
    if (kind === "file") await writeFile(target, "");
    else if (kind === "folder") await mkdir(target);
    else await symlink("missing", target);
    const [problem, ...more] = await findMisplaced(named(null, "fox.png", "hen.png"), place);
    expect(more).toEqual([]);
    expect(problem).toEqual({ line: 2, message: 'output "fox.png" exists already.' });
  });

  it("may be taken under --overwrite, or by an earlier run of this very row", async () => {
    const { place } = await newPlace();
    await writeFile(path.join(place.folder, "fox.png"), "");
    expect(await findMisplaced(named("fox.png"), { ...place, overwrite: true })).toEqual([]);
    for (const state of ["saved", "unfinished", "unknown", "failed"] as const) {
      const rows = named("fox.png").map((row) => ({ ...row, state }));
      expect(await findMisplaced(rows, place)).toEqual([]);
    }
  });

  it.each([false, true])("is never outside, wherever a link leads to; overwrite: %s", async (overwrite) => {
    const { root, place } = await newPlace();
    await mkdir(path.join(root, "elsewhere"));
    await symlink("../elsewhere", path.join(place.folder, "link"));
    await symlink("..", path.join(place.folder, "up"));
    await symlink(".", path.join(place.folder, "here"));
    const rows = named(
      "link/fox.png",
      "link/deep/er/fox.png",
      "up/out/fox.png",
      "up/fox.png",
      "here/fox.png",
    );
    const problems = await findMisplaced(rows, { ...place, overwrite });
    expect(problems.map(({ line }) => line)).toEqual([1, 2, 4]);
    for (const { message } of problems) expect(message).toContain(`is outside ${place.folder}`);
  });
});

describe("preparing a batch's place", () => {
  it("makes every folder that rows are saved in, and leaves nothing in them", async () => {
    const { root } = await newPlace();
    const folder = path.join(root, "new");
    await prepareFolders(named(null, "a/fox.png", "a/b/fox.png"), {
      folder,
      template: "{slug}.{ext}",
      overwrite: false,
    });
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(["a", "a/b"]);
  });

  it("fails before anything is sent where one of them cannot be written", async () => {
    const { place } = await newPlace();
    await writeFile(path.join(place.folder, "file"), "");
    const preparing = prepareFolders(named("a/fox.png", "file/fox.png"), place);
    await expect(preparing).rejects.toBeInstanceOf(SaveFailedError);
    await expect(preparing).rejects.toMatchObject({ charged: "no" });
  });
});

const BASE = { folder: "/out", template: "{slug}.{ext}", overwrite: false };

describe("where a row's images go", () => {
  it("is the batch's folder, under the template's name", () => {
    expect(rowDestination(newRow(), BASE)).toEqual({ kind: "folder", ...BASE });
  });

  it("is the row's own name below it, where it has one", () => {
    expect(rowDestination({ ...newRow(), output: "a/fox.png" }, { ...BASE, overwrite: true })).toEqual({
      kind: "file",
      path: "/out/a/fox.png",
      overwrite: true,
    });
  });
});
