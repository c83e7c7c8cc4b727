import path from "node:path";
import { describe, expect, it } from "vitest";
import { syncFolder } from "../../src/lib/durable.ts";
import { countSyncs } from "../support/system-calls.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("syncing a folder", () => {
  it("works only where there is one", async () => {
    const folder = await temporaryFolder();
    await expect(syncFolder(folder)).resolves.toBeUndefined();
    await expect(syncFolder(path.join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is done once more for all who come while it is under way", async () => {
    const folder = await temporaryFolder();
    const syncs = countSyncs();
    await Promise.all(Array.from({ length: 20 }, () => syncFolder(folder)));
    expect(syncs()).toBe(2);
  });

  it("is done again for whoever comes once it has begun, as its name may be too late for it", async () => {
    const folder = await temporaryFolder();
    const late: Promise<void>[] = [];
    const syncs = countSyncs((count) => {
      if (count === 2) late.push(syncFolder(folder));
    });
    await Promise.all([syncFolder(folder), syncFolder(folder)]);
    await Promise.all(late);
    expect(late).toHaveLength(1);
    expect(syncs()).toBe(3);
  });

  it("is done again for whoever comes after it is over", async () => {
    const folder = await temporaryFolder();
    const syncs = countSyncs();
    for (let time = 0; time < 3; time++) await syncFolder(folder);
    expect(syncs()).toBe(3);
  });

  it("fails for each who waited for it, and not for those who come later", async () => {
    const folder = path.join(await temporaryFolder(), "none");
    const tries = await Promise.allSettled(Array.from({ length: 3 }, () => syncFolder(folder)));
    expect(tries.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await expect(syncFolder(path.dirname(folder))).resolves.toBeUndefined();
  });
});
