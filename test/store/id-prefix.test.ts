import { describe, expect, it } from "vitest";
import type { Line } from "../../src/task/line.ts";
import { ledgerWorld, leftTask } from "../support/ledger-world.ts";
import { LINES } from "../support/records.ts";

const { completed, saved, unknown } = LINES;

/** A ledger with a task for each of the service's ids, each begun a minute after the one before; null for none. */
async function ledgerWith(...taskIds: (string | null)[]) {
  const { ledger, clock } = await ledgerWorld();
  const ids: string[] = [];
  for (const [at, taskId] of taskIds.entries()) {
    clock.advance(60_000);
    const accepted: Line[] = taskId === null ? [unknown] : [{ ...LINES.accepted, taskId }];
    const rest = at % 2 === 0 && taskId !== null ? [completed, saved] : [];
    ids.push((await leftTask(ledger, {}, ...accepted, ...rest)).task.id);
  }
  return { ledger, ids };
}

describe("a task in the ledger is found", () => {
  it("by a beginning of the service's id that no other has, finished or not", async () => {
    const { ledger, ids } = await ledgerWith("task_3f9c81", "task_81ab02");
    expect((await ledger.find("task_3"))?.id).toBe(ids[0]);
    expect((await ledger.find("task_81ab"))?.id).toBe(ids[1]);
    const both = await ledger.findByIds(["task_3f9", "task_81ab02"]);
    expect([...both].map(([id, record]) => [id, record.id]).sort()).toEqual([
      ["task_3f9", ids[0]],
      ["task_81ab02", ids[1]],
    ]);
  });

  it("by a beginning of the ledger's own id", async () => {
    const { ledger, ids } = await ledgerWith(null, "task_81ab02");
    expect((await ledger.find(ids[0]?.slice(0, 13) ?? ""))?.id).toBe(ids[0]);
  });

  it("by its whole id, though that is the beginning of another's", async () => {
    const { ledger, ids } = await ledgerWith("task-1", "task-10", "task-11");
    expect((await ledger.find("task-1"))?.id).toBe(ids[0]);
  });

  it("by its short id, which its images' names have, and by a beginning, both without task_ too", async () => {
    const { ledger, ids } = await ledgerWith("task_3f9c81ab0245", "task_77e0-c1d2f3", null, "task-1");
    for (const text of ["81ab0245", "task_81ab0245", "3f9c81"])
      expect((await ledger.find(text))?.id).toBe(ids[0]);
    expect((await ledger.find("e0c1d2f3"))?.id).toBe(ids[1]);
    expect((await ledger.find(ids[2]?.slice(-8) ?? ""))?.id).toBe(ids[2]);
    expect((await ledger.find("task1"))?.id).toBe(ids[3]);
  });

  it("not by what is the short id of several, or of one and the beginning of another: they are named", async () => {
    const same = await ledgerWith("task_1_9c81-ab02", "task_2_9c81-ab02", "9c81ab0245");
    await expect(same.ledger.find("9c81ab02")).rejects.toMatchObject({
      message: '3 tasks match "9c81ab02": 9c81ab0245, task_2_9c81-ab02, task_1_9c81-ab02.',
    });
  });

  it("as the newest of those that have one id", async () => {
    const { ledger, ids } = await ledgerWith("task_3f9c81", "task_3f9c81");
    expect((await ledger.find("task_3f9"))?.id).toBe(ids[1]);
  });

  it("not by a beginning that ends within the number by which its service counts", async () => {
    const { ledger, ids } = await ledgerWith("task_10", "job-2026/120034");
    for (const text of ["task_1", "job-2026/12"]) expect(await ledger.find(text)).toBeNull();
    expect((await ledger.find("job-2026/"))?.id).toBe(ids[1]);
  });

  it("not by fewer than 6 characters, nor by what stands elsewhere in its id", async () => {
    const { ledger } = await ledgerWith("task_3f9c81");
    for (const text of ["task_", "", "_3f9c81", "TASK_3"]) expect(await ledger.find(text)).toBeNull();
  });

  it("not by a beginning that fits several: they are named", async () => {
    const { ledger } = await ledgerWith("task_3f9c81", "task_3f0002", "task_3f0003", "task_3f0004");
    await expect(ledger.find("task_3f")).rejects.toMatchObject({
      type: "usage",
      message: '4 tasks match "task_3f": task_3f0004, task_3f0003, task_3f0002, and 1 more.',
    });
  });
});
