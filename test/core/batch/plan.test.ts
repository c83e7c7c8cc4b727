import { rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { CheckedRow } from "../../../src/core/batch/batch-row.ts";
import { planBatch, type RowState, rowState } from "../../../src/core/batch/plan.ts";
import { RowClaims, recordRowBegun } from "../../../src/store/row-claims.ts";
import type { Intent } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import { CANCELLED } from "../../../src/task/task.ts";
import { finishTask } from "../../support/finish-task.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { INTENT, LINES, recordOf, WORK } from "../../support/records.ts";
import { claimedOnly, claimedTask } from "./batch-run.ts";
import { rowsOf } from "./some-rows.ts";

const { started, waiting, accepted, completed, saved, failed, refused, not_sent, unknown, dismissed } = LINES;

const ENDS: readonly Line["type"][] = ["refused", "not_sent", "failed", "saved", "dismissed"];

async function newBatch() {
  const { ledger, as, processes, state } = await ledgerWorld(2, 3);
  const claims = new RowClaims(ledger.folder, "0123456789abcdef");
  /** An attempt at a row that has come so far. */
  const attempt = async (
    row: CheckedRow | undefined,
    number: number,
    intent: Partial<Intent>,
    ...lines: Line[]
  ) => {
    const of = { attempt: number, intent: { ...INTENT, ...intent } };
    const task = await claimedTask(claims, ledger, { key: row?.key ?? "" }, of);
    for (const line of lines) await task.file.record(line);
    if (ENDS.includes(lines.at(-1)?.type ?? "intent")) await finishTask(ledger, task);
    else ledger.release(task, true);
    return { id: task.task.id, file: task.file.path };
  };
  const plan = (rows: readonly CheckedRow[], ...resubmitted: RowState[]) =>
    planBatch(rows, { claims, ledger, resubmits: new Set(resubmitted), countsKey: () => true });
  return { ledger, as, claims, attempt, plan, processes, state };
}

const heldBy = (isClaimed: boolean) => ({ isClaimed: () => isClaimed });

it.each([
  ["never sent", [not_sent], "new"],
  ["cancelled before it was sent", [{ ...not_sent, why: CANCELLED }], "failed"],
  ["cancelled while it ran", [started, { ...failed, why: `${CANCELLED}.` }], "failed"],
  ["refused", [started, refused], "new"],
  ["begun, and never submitted", [], "new"],
  ["turned away with 429", [started, waiting], "new"],
  ["sent, and its reply was lost", [started, unknown], "unknown"],
  ["dismissed", [started, unknown, dismissed], "unknown"],
  ["accepted", [started, accepted], "unfinished"],
  ["completed and not saved", [started, accepted, completed], "unfinished"],
  ["saved", [started, accepted, completed, saved], "saved"],
  ["submitted and failed", [started, accepted, failed], "failed"],
] as const)("a row whose task was %s stands as %j → %s", (_name, lines, state) => {
  const entry = { file: "task.jsonl", kind: "task", task: recordOf(lines) } as const;
  expect(rowState(entry, heldBy(false))).toBe(state);
});

it.each([
  ["begun, and not submitted yet", []],
  ["turned away with 429", [started, waiting]],
  ["sent", [started]],
] as const)("a row whose task was %s is another process's while that lives: %j", (_name, lines) => {
  const entry = { file: "task.jsonl", kind: "task", task: recordOf(lines) } as const;
  expect(rowState(entry, heldBy(true))).toBe("waiting");
});

it("a row whose task waits at a provider that keeps what was never sent is unfinished", () => {
  const entry = { file: "task.jsonl", kind: "task", task: recordOf([], WORK) } as const;
  expect(rowState(entry, heldBy(false))).toBe("unfinished");
});

it.each([
  ["damaged", { file: "f", kind: "damaged", why: "its first line is not JSON" }],
  ["of a newer release", { file: "f", kind: "newer", version: 9 }],
  ["no task's at all", { file: "f", kind: "foreign" }],
  ["never wholly written down", { file: "f", kind: "stub" }],
] as const)("a row whose task's file is %s is unknown: it may have been charged", (_name, file) => {
  expect(rowState(file, heldBy(false))).toBe("unknown");
});

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
  it("uses what the user submitted in place of a row of unknown outcome, and counts both", async () => {
    const { attempt, plan, ledger } = await newBatch();
    const rows = rowsOf("a fox");
    const bought = await leftTask(ledger, {}, accepted, completed, saved);
    await attempt(rows[0], 1, {}, unknown, { ...LINES.dismissed, replacement: bought.task.id });
    for (const resubmitted of [[], ["unknown" as const]])
      expect(await plan(rows, ...resubmitted)).toMatchObject({
        rows: [{ state: "saved" }],
        toSubmit: { rows: 0, credits: 0 },
        charged: { rows: 2, credits: 4 },
      });
  });

  it("submits all again that was sent, and continues what was not", async () => {
    const { attempt, plan } = await newBatch();
    const rows = rowsOf("new", "saved", "running", "failed", "lost", "waiting");
    const at = WORK;
    await attempt(rows[1], 1, at, accepted, completed, saved);
    await attempt(rows[2], 1, at, accepted);
    await attempt(rows[3], 1, at, accepted, failed);
    await attempt(rows[4], 1, at, unknown);
    await attempt(rows[5], 1, at, waiting);
    const { rows: planned } = await plan(rows, "saved", "unfinished", "failed", "unknown");
    const again = planned.filter(({ resubmit }) => resubmit !== null).map(({ row }) => row);
    expect(again.toSorted()).toEqual([2, 3, 4, 5]);
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
    expect((await plan(rows, "unknown")).toSubmit).toEqual({ rows: 4, credits: 8, undocumented: 0 });
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

  it("leaves to a running batch's budget what was not charged yet: its process may be about to submit it", async () => {
    const { claims, ledger, attempt, plan } = await newBatch();
    const rows = rowsOf("claimed", "turned away", "accepted");
    await claimedOnly(claims, ledger, rows[0] as CheckedRow);
    await attempt(rows[1], 1, {}, started, waiting);
    await attempt(rows[2], 1, {}, accepted);
    const { claimed, charged } = await plan(rows);
    expect([...claimed]).toEqual([`${rows[2]?.key}.1`]);
    expect(charged.rows).toBe(1);
  });

  it("uses the claims where tasks were removed from the ledger", async () => {
    const { attempt, claims, ledger, plan, state } = await newBatch();
    const rows = rowsOf("saved", "failed", "refused", "replaced", "submitted", "only begun");
    const replaced = { ...dismissed, replacement: "20260131T120000000-0badcafe" };
    await attempt(rows[0], 1, {}, started, accepted, completed, saved);
    await attempt(rows[1], 1, {}, started, accepted, failed);
    await attempt(rows[2], 1, {}, started, refused);
    await attempt(rows[3], 1, {}, started, unknown, replaced);
    await attempt(rows[4], 1, {}, started, accepted);
    await recordRowBegun(ledger.folder, claims.claimName(rows[4]?.key ?? "", 1));
    await attempt(rows[5], 1, {});
    for (const folder of ["open", "done"]) await rm(path.join(state, "tasks", folder), { recursive: true });
    const planned = await plan(rows);
    const standings = planned.rows.toSorted((a, b) => a.row - b.row).map(({ state }) => state);
    expect(standings).toEqual(["saved", "failed", "new", "unknown", "unknown", "new"]);
    expect(planned.toSubmit.rows).toBe(2);
    expect(planned.charged.rows).toBe(5);
  });

  it("submits again at the user's request what is unknown, and not what a process is still at", async () => {
    const { attempt, claims, as, plan, processes } = await newBatch();
    const rows = rowsOf("lost", "in flight", "of the dead");
    await attempt(rows[0], 1, {}, started, unknown);
    for (const [at, pid] of [
      [1, 2],
      [2, 3],
    ] as const) {
      const task = await claimedTask(claims, as(pid), rows[at] as CheckedRow);
      await task.file.record(started);
      task.file.close();
    }
    processes.die(3);
    const planned = await plan(rows, "unknown");
    expect(planned.rows.map(({ state, resubmit }) => [state, resubmit !== null])).toEqual([
      ["unknown", true],
      ["waiting", false],
      ["unknown", true],
    ]);
    expect(planned.toSubmit.rows).toBe(2);
    expect(planned.charged.rows).toBe(3);
    for (const { resubmit, attempts } of planned.rows) expect([null, attempts[0]]).toContain(resubmit);
  });

  it("counts a row that waits unsent among those to submit once its process has ended", async () => {
    const { claims, as, plan, processes } = await newBatch();
    const rows = rowsOf("a fox");
    const task = await claimedTask(claims, as(2), rows[0] as CheckedRow);
    for (const line of [started, waiting]) await task.file.record(line);
    task.file.close();
    expect(await plan(rows)).toMatchObject({ rows: [{ state: "waiting" }], toSubmit: { rows: 0 } });
    processes.die(2);
    expect(await plan(rows)).toMatchObject({
      rows: [{ state: "new" }],
      toSubmit: { rows: 1, credits: 2 },
      charged: { rows: 0 },
    });
  });

  it("submits a row of unknown outcome again only once no process is at work on its task", async () => {
    const { claims, as, plan, processes } = await newBatch();
    const rows = rowsOf("a fox");
    const { task, file } = await claimedTask(claims, as(2), rows[0] as CheckedRow);
    for (const line of [started, unknown]) await file.record(line);
    file.close();
    const held = { rows: [{ state: "unknown", resubmit: null }], toSubmit: { rows: 0 } };
    expect(await plan(rows, "unknown")).toMatchObject(held);
    processes.die(2);
    expect(await plan(rows, "unknown")).toMatchObject({ rows: [{ resubmit: task.id }] });
  });

  it("does not take a task for lost that is begun while its row is read", async () => {
    const { claims, ledger, plan } = await newBatch();
    const rows = rowsOf("a fox");
    const id = await claimedOnly(claims, ledger, rows[0] as CheckedRow);
    const claim = claims.claimName(rows[0]?.key ?? "", 1);
    let reads = 0;
    const read = async (wanted: string) => {
      const entry = await ledger.read(wanted);
      reads += 1;
      if (reads > 1) return entry;
      await ledger.begin(INTENT, { id, isShared: true, claim });
      await recordRowBegun(ledger.folder, claim);
      return entry;
    };
    const late = Object.assign(Object.create(ledger), {
      read,
      isClaimed: () => true,
      isOpen: () => true,
      withLostReplies: async <Any>(task: Any) => task,
    });
    const deps = { claims, ledger: late, resubmits: new Set<RowState>(), countsKey: null };
    expect((await planBatch(rows, deps)).rows).toMatchObject([{ state: "waiting" }]);
    expect((await plan(rows)).rows).toMatchObject([{ state: "waiting" }]);
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
    const deps = { claims, ledger, resubmits: new Set<RowState>(), countsKey: null };
    expect((await planBatch(rows.slice(0, 1), deps)).chargedForOthers.rows).toBe(0);
  });
});
