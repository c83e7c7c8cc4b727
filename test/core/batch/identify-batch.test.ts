import { chmod, mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  batchId,
  type FolderBatch,
  findBatch,
  identifyBatch,
} from "../../../src/core/batch/identify-batch.ts";
import { SaveFailedError } from "../../../src/core/errors.ts";
import { UsageError } from "../../../src/lib/error-types.ts";
import { BatchFolders, newFolderId } from "../../../src/store/batch-folders.ts";
import { imagesIn } from "../../support/batch-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const NOW_MS = Date.UTC(2026, 0, 31, 12);

async function newFolder() {
  const root = await temporaryFolder();
  const [ledger, folder] = [path.join(root, "ledger"), path.join(root, "out")];
  await mkdir(folder);
  const folders = new BatchFolders(ledger);
  const asked: FolderBatch[] = [];
  const identify = (planned: FolderBatch, { isShard = false, answer = true } = {}) =>
    identifyBatch(folder, planned, {
      folders,
      nowMs: NOW_MS,
      isShard,
      agree: async (found) => asked.push(found) > 0 && answer,
    });
  const file = path.join(folder, ".imggen-batch");
  return { root, folder, folders, identify, asked, file, find: () => findBatch(folder, folders) };
}

describe("a batch's folder", () => {
  it("is given an id that the ledger knows", async () => {
    const { folder, identify, find, asked } = await newFolder();
    expect(await find()).toEqual({ id: null, origin: folder, isForeign: false, isKnown: true });
    await identify(await find());
    expect(await find()).toEqual({ id: expect.any(String), origin: folder, isForeign: false, isKnown: true });
    expect(asked).toEqual([]);
  });

  it("keeps the id that another process of this ledger has given it meanwhile", async () => {
    const { folder, folders, identify, find, file, asked } = await newFolder();
    const planned = await find();
    const id = newFolderId();
    await folders.recordId(id, { origin: folder, isShared: false });
    await writeFile(file, `${id}\n`);
    await identify(planned);
    expect(await readFile(file, "utf8")).toBe(`${id}\n`);
    expect(asked).toEqual([]);
  });

  it("that another ledger has given an id meanwhile is asked about nevertheless", async () => {
    const { identify, find, file, asked } = await newFolder();
    const planned = await find();
    await writeFile(file, `${newFolderId()}\n`);
    await identify(planned);
    expect(asked).toMatchObject([{ isForeign: true }]);
    expect((await find()).isForeign).toBe(false);
  });

  it("stays another ledger's where that is the answer, and in part where it is a shard's", async () => {
    const { identify, find, file } = await newFolder();
    await writeFile(file, `${newFolderId()}\n`);
    await identify(await find(), { answer: false });
    expect((await find()).isForeign).toBe(true);
    await identify(await find(), { isShard: true });
    expect((await find()).isForeign).toBe(true);
    await identify(await find());
    expect((await find()).isForeign).toBe(false);
  });

  it("that was replaced by another batch's since the rows were planned is refused", async () => {
    const { root, folders, identify, find, file } = await newFolder();
    const planned = await find();
    const id = newFolderId();
    await folders.recordId(id, { origin: path.join(root, "other"), isShared: false });
    await writeFile(file, `${id}\n`);
    await expect(identify(planned)).rejects.toBeInstanceOf(UsageError);
  });

  it("that takes no file is refused before anything is sent", async () => {
    const { folder, identify, find } = await newFolder();
    await chmod(folder, 0o555);
    const planned = await find();
    // The superuser may write anywhere: then there is nothing to refuse.
    const error = await identify(planned).catch((thrown: unknown) => thrown);
    if (process.getuid?.() === 0) return;
    expect(error).toBeInstanceOf(SaveFailedError);
    expect(error).toMatchObject({ charged: "no" });
  });

  it("is rid of old drafts of an id, and of nothing else", async () => {
    const { folder, identify, find } = await newFolder();
    const old = new Date(NOW_MS - 11 * 60_000);
    for (const name of ["..imggen-batch.0a1b2c3d", ".imggen-batch.notes"]) {
      await writeFile(path.join(folder, name), "");
      await utimes(path.join(folder, name), old, old);
    }
    await identify(await find());
    expect(await imagesIn(folder)).toEqual([".imggen-batch.notes"]);
  });
});

describe("a batch's id", () => {
  const id = batchId("https://api.test/api", "/out");

  it("is of one form, and stays what it is from release to release", () => {
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(id).toBe("e35eafac35a2dfc2");
  });

  it("is another at another service, or in another folder", () => {
    expect(batchId("https://api.test/v2", "/out")).not.toBe(id);
    expect(batchId("https://api.test/api", "/out/a")).not.toBe(id);
  });
});
