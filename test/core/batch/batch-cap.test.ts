import { expect, it } from "vitest";
import { batchCap } from "../../../src/core/batch/batch-cap.ts";
import { planBatch, type RowState } from "../../../src/core/batch/plan.ts";
import { RowClaims } from "../../../src/store/row-claims.ts";
import { StateFolderError } from "../../../src/store/store-errors.ts";
import { finishTask } from "../../support/finish-task.ts";
import { ledgerWorld } from "../../support/ledger-world.ts";
import { INTENT, LINES } from "../../support/records.ts";
import { claimedOnly } from "./batch-run.ts";
import { rowsOf } from "./some-rows.ts";

const { started, waiting, accepted, refused } = LINES;

/** A batch whose budget is 3 credits, and two rows of it that cost 2 each, claimed by a process that has not begun them. */
async function twoClaimedRows() {
  const { ledger, as, processes } = await ledgerWorld(2);
  const other = as(2);
  const claims = new RowClaims(ledger.folder, "0123456789abcdef");
  const deps = { claims, ledger, resubmits: new Set<RowState>(), countsKey: () => true };
  const cap = batchCap(await planBatch([], deps), 3, deps);
  const rows = rowsOf("a fox", "a hen");
  const ids = await Promise.all(rows.map((row) => claimedOnly(claims, other, row)));
  const begin = async (at: number) => {
    const claim = claims.claimName(rows[at]?.key ?? "", 1);
    const task = await other.begin(INTENT, { id: ids[at] ?? "", isShared: true, claim });
    if (task === "taken") throw new Error("taken");
    return task;
  };
  const task = { id: ledger.newId(), intent: INTENT, parts: 1 };
  const take = () => cap.take({ task, request: 0, credits: 2 });
  return { take, begin, other, endOther: () => processes.die(2) };
}

it("the budget of a running batch counts what another process had claimed and not begun at the last look", async () => {
  const { take, begin } = await twoClaimedRows();
  expect(await take()).toBeNull();
  await begin(0);
  expect(await take()).toBeNull();
  await begin(1);
  expect((await take())?.message).toContain("would cost 4 credits, and --max-credits is 3");
});

it("the budget of a running batch counts a row that waits to be submitted, until its process has ended", async () => {
  const { take, begin, endOther } = await twoClaimedRows();
  const task = await begin(0);
  await task.file.record(started);
  await task.file.record(waiting);
  await begin(1);
  expect((await take())?.message).toContain("would cost 4 credits");
  endOther();
  expect(await take()).toBeNull();
  await task.file.record({ ...started, attempt: "1.1" });
  await task.file.record({ ...accepted, attempt: "1.1" });
  expect(await take()).toBeNull();
});

it("the budget of a running batch reads a claim again before it refuses a row: it may have been refused since", async () => {
  const { take, begin, other } = await twoClaimedRows();
  const tasks = [await begin(0), await begin(1)];
  expect(await take()).not.toBeNull();
  for (const task of tasks) {
    await task.file.record(started);
    await task.file.record(refused);
    await finishTask(other, task);
  }
  expect(await take()).toBeNull();
});

it("the budget of a running batch refuses a row if the disk does not list the claims", async () => {
  const { ledger } = await ledgerWorld();
  const claims = new RowClaims(ledger.folder, "0123456789abcdef");
  const deps = { claims, ledger, resubmits: new Set<RowState>(), countsKey: () => true };
  const plan = await planBatch([], deps);
  const list = async () => {
    throw new StateFolderError(ledger.folder, Object.assign(new Error("EIO"), { code: "EIO" }));
  };
  const cap = batchCap(plan, 3, { ...deps, claims: Object.assign(Object.create(claims), { list }) });
  const task = { id: ledger.newId(), intent: INTENT, parts: 1 };
  expect(await cap.take({ task, request: 0, credits: 2 })).toMatchObject({ type: "save_failed" });
});
