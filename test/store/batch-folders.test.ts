import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BatchFolders } from "../../src/store/batch-folders.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ID = "0123456789abcdef0123456789abcdef";

async function newFolders() {
  const ledger = await temporaryFolder();
  return { as: () => new BatchFolders(ledger), folder: path.join(ledger, "folders") };
}

describe("what the ledger knows of folders", () => {
  it("is nothing at first: an id is unknown, and a path stands for itself; nothing is written", async () => {
    const { as, folder } = await newFolders();
    expect(await as().findById(ID)).toBeNull();
    expect(await as().findByPath("/out")).toBe("/out");
    await as().recordPath("/out", "/out");
    await expect(stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is an id's path, the first that was recorded", async () => {
    const { as } = await newFolders();
    for (const origin of ["/a\nb", "/other"]) await as().recordId(ID, { origin, isShared: false });
    expect(await as().findById(ID)).toEqual({ origin: "/a\nb", isShared: false });
  });

  it("is shared until it is recorded as this ledger's alone", async () => {
    const { as } = await newFolders();
    await as().recordId(ID, { origin: "/out", isShared: true });
    expect(await as().findById(ID)).toEqual({ origin: "/out", isShared: true });
    await as().recordId(ID, { origin: "/out", isShared: false });
    expect(await as().findById(ID)).toEqual({ origin: "/out", isShared: false });
  });

  it("is the latest folder seen at a path", async () => {
    const { as } = await newFolders();
    await as().recordId(ID, { origin: "/out", isShared: false });
    await as().recordPath("/new", "/out");
    expect(await as().findByPath("/new")).toBe("/out");
    await as().recordPath("/new", "/other");
    expect(await as().findByPath("/new")).toBe("/other");
  });

  it("is for its owner only, and leaves no drafts", async () => {
    const { as, folder } = await newFolders();
    await as().recordId(ID, { origin: "/out", isShared: false });
    await as().recordPath("/new", "/out");
    const names = await readdir(folder);
    expect(names.filter((name) => name.startsWith("."))).toEqual([]);
    for (const name of names) expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it("is nothing where its file is damaged: then the user is asked", async () => {
    const { as, folder } = await newFolders();
    await mkdir(folder);
    await writeFile(path.join(folder, ID), '{"fol');
    expect(await as().findById(ID)).toBeNull();
  });

  it("says where it cannot be written that nothing was sent", async () => {
    const { as, folder } = await newFolders();
    await writeFile(folder, "");
    const recording = as().recordId(ID, { origin: "/out", isShared: false });
    await expect(recording).rejects.toBeInstanceOf(StateFolderError);
    await expect(recording).rejects.toMatchObject({ charged: "no" });
  });
});
