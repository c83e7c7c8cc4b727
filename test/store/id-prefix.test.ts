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
  it.each<[string, string[], Record<string, number | null>]>([
    [
      "by a beginning of the service's id that no other has, finished or not",
      ["task_3f9c81", "task_81ab02"],
      { task_3: 0, task_81ab: 1 },
    ],
    ["by its whole id, though another's begins so", ["task-1", "task-10", "task-11"], { "task-1": 0 }],
    [
      "by its short id, which its images' names have, and by a beginning, both without task_ too",
      ["task_3f9c81ab0245", "task_77e0-c1d2f3", "task-1"],
      { "81ab0245": 0, task_81ab0245: 0, "3f9c81": 0, e0c1d2f3: 1, task1: 2 },
    ],
    ["as the newest of those that have one id", ["task_3f9c81", "task_3f9c81"], { task_3f9: 1 }],
    [
      "not by a beginning that ends within the number by which its service counts",
      ["task_10", "job-2026/120034"],
      { task_1: null, "job-2026/12": null, "job-2026/": 1 },
    ],
    [
      "not by fewer than 6 characters, nor by what stands elsewhere in its id",
      ["task_3f9c81"],
      { task_: null, "": null, _3f9c81: null, TASK_3: null },
    ],
  ])("%s", async (_what, taskIds, found) => {
    const { ledger, ids } = await ledgerWith(...taskIds);
    for (const [text, at] of Object.entries(found))
      expect([text, (await ledger.find(text))?.id]).toEqual([text, at === null ? undefined : ids[at]]);
  });

  it("by a beginning of the ledger's own id, and by its short id", async () => {
    const { ledger, ids } = await ledgerWith(null, "task_81ab02");
    for (const text of [ids[0]?.slice(0, 13), ids[0]?.slice(-8)])
      expect((await ledger.find(text ?? ""))?.id).toBe(ids[0]);
  });

  it("in one look with others", async () => {
    const { ledger, ids } = await ledgerWith("task_3f9c81", "task_81ab02");
    const both = await ledger.findByIds(["task_3f9", "task_81ab02"]);
    expect([both.get("task_3f9")?.id, both.get("task_81ab02")?.id, both.size]).toEqual([...ids, 2]);
  });

  it("not by what is the short id of several, or of one and the beginning of another: they are named", async () => {
    const same = await ledgerWith("task_1_9c81-ab02", "task_2_9c81-ab02", "9c81ab0245");
    await expect(same.ledger.find("9c81ab02")).rejects.toMatchObject({
      message: '3 tasks match "9c81ab02": 9c81ab0245, task_2_9c81-ab02, task_1_9c81-ab02.',
    });
  });

  it("not by a beginning that fits several: they are named", async () => {
    const { ledger } = await ledgerWith("task_3f9c81", "task_3f0002", "task_3f0003", "task_3f0004");
    await expect(ledger.find("task_3f")).rejects.toMatchObject({
      type: "usage",
      message: '4 tasks match "task_3f": task_3f0004, task_3f0003, task_3f0002, and 1 more.',
    });
  });
});
