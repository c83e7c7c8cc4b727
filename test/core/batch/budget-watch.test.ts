import { expect, it } from "vitest";
import { BudgetWatch } from "../../../src/core/batch/budget-watch.ts";
import { planBatch } from "../../../src/core/batch/plan.ts";
import { BatchClaims } from "../../../src/store/batch-claims.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { ledgerWorld } from "../../support/ledger-world.ts";
import { EVENTS, INTENT } from "../../support/records.ts";
import { rowsOf } from "./some-rows.ts";

/** A batch whose budget is 3 credits, and two rows of it that cost 2 each, claimed by a process that has not begun them. */
async function twoClaimedRows() {
  const { ledger, as, processes } = await ledgerWorld(2);
  const other = as(2);
  const claims = new BatchClaims(ledger.folder, "0123456789abcdef", fakeClock());
  const deps = { claims, ledger, resubmitUnknown: false, retryFailed: false, countsKey: () => true };
  const budget = new BudgetWatch(await planBatch([], deps), 3, deps);
  const ids = await Promise.all(
    rowsOf("a fox", "a hen").map(({ key }) => claims.claim(key, 1, other.newId())),
  );
  const begin = async (at: number) => {
    const task = await other.beginAs(ids[at] ?? "", { ...INTENT, credits: 2 }, null);
    if (task === "taken") throw new Error("taken");
    return task;
  };
  return { budget, begin, endOther: () => processes.die(2) };
}

it("a running batch's budget counts what another process had claimed and not begun when it was looked at", async () => {
  const { budget, begin } = await twoClaimedRows();
  expect(await budget.exceeded()).toBeNull();
  await begin(0);
  expect(await budget.exceeded()).toBeNull();
  await begin(1);
  expect((await budget.exceeded())?.message).toContain("would cost 4 credits, and --max-credits is 3");
});

it("a running batch's budget counts a row that waits after a 429, unless its process has ended", async () => {
  const { budget, begin, endOther } = await twoClaimedRows();
  const waiting = await begin(0);
  await waiting.file.record(EVENTS.rate_limited);
  await begin(1);
  expect((await budget.exceeded())?.message).toContain("would cost 4 credits");
  endOther();
  expect(await budget.exceeded()).toBeNull();
  await waiting.file.record(EVENTS.accepted);
  expect((await budget.exceeded())?.message).toContain("would cost 4 credits");
});
