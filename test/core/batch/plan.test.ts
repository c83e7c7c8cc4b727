import { appendFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { CheckedRow } from "../../../src/core/batch/batch-row.ts";
import { planBatch } from "../../../src/core/batch/plan.ts";
import { BatchClaims } from "../../../src/store/batch-claims.ts";
import type { Intent } from "../../../src/task/intent.ts";
import type { TaskEvent } from "../../../src/task/task.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { finishTask } from "../../support/finish-task.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { EVENTS, INTENT } from "../../support/records.ts";
import { identity } from "../../support/some-processes.ts";
import { claimedOnly } from "./batch-run.ts";
import { rowsOf } from "./some-rows.ts";

const { accepted, completed, saved, failed, refused, not_sent, unknown } = EVENTS;

async function newBatch() {
  const { ledger, as, processes, state } = await ledgerWorld(2, 3);
  const claims = new BatchClaims(ledger.folder, "0123456789abcdef", fakeClock());
  /** An attempt at a row that has come so far. */
  const attempt = async (
    row: CheckedRow | undefined,
    number: number,
    intent: Partial<Intent>,
    ...events: TaskEvent[]
  ) => {
    const id = await claims.claim(row?.key ?? "", number, ledger.newId());
    const task = await ledger.beginAs(id, { ...INTENT, ...intent }, null);
    if (task === "taken") throw new Error("taken");
    for (const event of events) await task.file.record(event);
    const last = events.at(-1)?.type ?? "";
    await (["refused", "not_sent", "failed", "saved"].includes(last)
      ? finishTask(ledger, task)
      : task.release());
    return { id, file: task.file.path };
  };
  const plan = (rows: readonly CheckedRow[], resubmitUnknown = false, retryFailed = false) =>
    planBatch(rows, { claims, ledger, resubmitUnknown, retryFailed, countsKey: () => true });
  return { ledger, as, claims, attempt, plan, processes, state };
}

describe("a row whose prompt has blanks around it", () => {
  it("keeps the key of a release that did not cut them, and counts as no other row then", async () => {
    const { attempt, plan } = await newBatch();
    const [uncut, plain] = rowsOf(" a fox", "a fox");
    await attempt(uncut, 1, {}, accepted, completed, saved);
    await attempt(plain, 1, {}, accepted, completed, saved);
    const [first, second] = rowsOf("a fox", "a fox") as [CheckedRow, CheckedRow];
    const rows = [{ ...first, uncutKey: uncut?.key ?? "" }, second];
    const { rows: planned, toSubmit } = await plan(rows);
    expect(planned.map(({ state, key }) => [state, key])).toEqual([
      ["saved", uncut?.key],
      ["saved", plain?.key],
    ]);
    expect(toSubmit.rows).toBe(0);
  });
});

describe("a batch's plan", () => {
  it("is to submit everything, where nothing was begun", async () => {
    const { plan } = await newBatch();
    const { rows, toSubmit, charged } = await plan(rowsOf("a fox", "a hen"));
    expect(rows.map(({ state, attempts }) => [state, attempts])).toEqual([
      ["new", []],
      ["new", []],
    ]);
    expect([toSubmit, charged]).toEqual([
      { rows: 2, credits: 4, undocumented: 0 },
      { rows: 0, credits: 0, undocumented: 0 },
    ]);
  });

  it("uses what the user submitted in place of a row of unknown outcome, and counts both", async () => {
    const { attempt, plan, ledger } = await newBatch();
    const rows = rowsOf("a fox");
    const bought = await leftTask(ledger, {}, accepted, completed, saved);
    await attempt(rows[0], 1, {}, unknown, { ...EVENTS.dismissed, replacement: bought.record.id });
    for (const resubmitUnknown of [false, true])
      expect(await plan(rows, resubmitUnknown)).toMatchObject({
        rows: [{ state: "saved" }],
        toSubmit: { rows: 0, credits: 0 },
        charged: { rows: 2, credits: 4 },
      });
  });

  it("takes each row from where an earlier run left it, charged rows first", async () => {
    const { attempt, plan } = await newBatch();
    const rows = rowsOf("new", "refused", "not sent", "lost", "failed", "saved", "running", "done");
    await attempt(rows[1], 1, {}, refused);
    await attempt(rows[2], 1, {}, not_sent);
    await attempt(rows[3], 1, {}, unknown);
    await attempt(rows[4], 1, {}, accepted, failed);
    await attempt(rows[5], 1, {}, accepted, completed, saved);
    await attempt(rows[6], 1, {}, accepted);
    await attempt(rows[7], 1, {}, accepted, completed);
    const planned = await plan(rows);
    expect(planned.rows.map(({ row, state }) => [row, state])).toEqual([
      [7, "unfinished"],
      [8, "unfinished"],
      [1, "new"],
      [2, "new"],
      [3, "new"],
      [4, "unknown"],
      [5, "failed"],
      [6, "saved"],
    ]);
    expect(planned.toSubmit).toEqual({ rows: 3, credits: 6, undocumented: 0 });
    expect(planned.charged).toEqual({ rows: 5, credits: 10, undocumented: 0 });
    expect((await plan(rows, true)).toSubmit).toEqual({ rows: 4, credits: 8, undocumented: 0 });
  });

  it("counts every attempt that may have been charged, and uses the last", async () => {
    const { attempt, plan } = await newBatch();
    const rows = rowsOf("a fox");
    await attempt(rows[0], 1, { credits: 1 }, unknown);
    await attempt(rows[0], 2, { credits: 2 }, refused);
    await attempt(rows[0], 3, { credits: 4 }, accepted);
    const { rows: planned, toSubmit, charged } = await plan(rows);
    expect(planned[0]).toMatchObject({ state: "unfinished", attempts: { length: 3 } });
    expect([toSubmit.rows, charged]).toEqual([0, { rows: 2, credits: 5, undocumented: 0 }]);
  });

  it("counts what has no documented cost apart", async () => {
    const { attempt, plan } = await newBatch();
    const [fox, hen] = rowsOf("a fox", "a hen");
    await attempt(fox, 1, { credits: null }, accepted);
    const unpriced = { ...hen, checked: { ...hen?.checked, credits: null } } as CheckedRow;
    const { toSubmit, charged } = await plan([fox as CheckedRow, unpriced]);
    expect([toSubmit, charged]).toEqual([
      { rows: 1, credits: 0, undocumented: 1 },
      { rows: 1, credits: 0, undocumented: 1 },
    ]);
  });

  it("submits what was only claimed: its process ended before it wrote down anything to send", async () => {
    const { claims, ledger, plan } = await newBatch();
    const rows = rowsOf("a fox");
    const id = await claimedOnly(claims, ledger, rows[0] as CheckedRow, identity(1));
    expect((await plan(rows)).rows).toMatchObject([{ state: "new", attempts: [id] }]);
  });

  it("leaves to a running batch's budget what was not charged yet: its process may be about to submit it", async () => {
    const { claims, ledger, attempt, plan } = await newBatch();
    const rows = rowsOf("claimed", "turned away", "accepted");
    await claimedOnly(claims, ledger, rows[0] as CheckedRow, identity(1));
    await attempt(rows[1], 1, {}, EVENTS.rate_limited);
    await attempt(rows[2], 1, {}, accepted);
    const { claimed, charged } = await plan(rows);
    expect([...claimed]).toEqual([`${rows[2]?.key}.1`]);
    expect(charged.rows).toBe(1);
  });

  it("uses the claims where finished tasks were removed from the ledger", async () => {
    const { claims, ledger, plan, state } = await newBatch();
    const rows = rowsOf("saved", "failed", "refused", "running", "replaced");
    const begun = async (row: CheckedRow | undefined, ...events: TaskEvent[]) => {
      const task = await ledger.beginAs(ledger.newId(), INTENT, claims.attempt(row?.key ?? "", 1));
      if (task === "taken") throw new Error("taken");
      for (const event of events) await task.file.record(event);
      await finishTask(ledger, task);
    };
    await begun(rows[0], accepted, completed, saved);
    await begun(rows[1], accepted, failed);
    await begun(rows[2], refused);
    await begun(rows[3], accepted);
    await begun(rows[4], unknown, { ...EVENTS.dismissed, replacement: "20260131T120000000-0badcafe" });
    await rm(path.join(state, "tasks", "done"), { recursive: true });
    const planned = await plan(rows);
    const standings = planned.rows.toSorted((a, b) => a.row - b.row).map(({ state }) => state);
    expect(standings).toEqual(["saved", "failed", "new", "unfinished", "unknown"]);
    expect(planned.toSubmit.rows).toBe(1);
  });

  it("leaves alone a row whose task's file cannot be read, and counts it as charged", async () => {
    const { attempt, plan } = await newBatch();
    const rows = rowsOf("a fox", "a hen");
    const { file } = await attempt(rows[0], 1, {}, accepted);
    await writeFile(file, "scribble\n");
    for (const resubmit of [false, true]) {
      const { rows: planned, toSubmit, charged } = await plan(rows, resubmit);
      expect(planned[0]).toMatchObject({ row: 1, state: "unknown" });
      expect([toSubmit.rows, charged]).toEqual([1, { rows: 1, credits: 2, undocumented: 0 }]);
    }
  });

  it("submits again at the user's request what is unknown, and not what a process is still at", async () => {
    const { attempt, claims, ledger, as, plan, processes } = await newBatch();
    const rows = rowsOf("lost", "under way", "of the dead");
    await attempt(rows[0], 1, {}, unknown);
    for (const [at, pid] of [
      [1, 2],
      [2, 3],
    ] as const) {
      const id = await claims.claim(rows[at]?.key ?? "", 1, ledger.newId());
      const task = await as(pid).beginAs(id, INTENT, null);
      if (task === "taken") throw new Error("taken");
      task.file.close();
    }
    processes.die(3);
    const planned = await plan(rows, true);
    expect(planned.rows.map(({ state, resubmit }) => [state, resubmit !== null])).toEqual([
      ["unknown", true],
      ["unknown", false],
      ["unknown", true],
    ]);
    expect(planned.toSubmit.rows).toBe(2);
    for (const { resubmit, attempts } of planned.rows) expect([null, attempts[0]]).toContain(resubmit);
  });

  it("counts apart what was charged for rows that are not in it any more, where they count", async () => {
    const { attempt, claims, ledger, plan } = await newBatch();
    const rows = rowsOf("a fox", "a hen", "an owl");
    await attempt(rows[0], 1, {}, accepted, completed, saved);
    await attempt(rows[1], 1, { credits: 8 }, unknown);
    await attempt(rows[1], 2, { credits: 4 }, accepted);
    await attempt(rows[2], 1, {}, refused);
    const { charged, chargedForOthers } = await plan(rows.slice(0, 1));
    expect([charged.credits, chargedForOthers]).toEqual([2, { rows: 2, credits: 12, undocumented: 0 }]);
    const deps = { claims, ledger, resubmitUnknown: false, retryFailed: false, countsKey: null };
    expect((await planBatch(rows.slice(0, 1), deps)).chargedForOthers.rows).toBe(0);
  });

  it("takes a torn last record for one that was never written", async () => {
    const { attempt, plan } = await newBatch();
    const rows = rowsOf("a fox");
    const { file } = await attempt(rows[0], 1, {}, accepted);
    await appendFile(file, '{"type":"sav');
    expect((await plan(rows)).rows).toMatchObject([{ state: "unfinished" }]);
  });
});
