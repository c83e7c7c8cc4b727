import { expect, it } from "vitest";
import { BudgetWatch } from "../../../src/core/batch/budget-watch.ts";
import { planBatch } from "../../../src/core/batch/plan.ts";
import { BatchClaims } from "../../../src/store/batch-claims.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { EVENTS, INTENT } from "../../support/records.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { rowsOf } from "./some-rows.ts";

it("a running batch's budget counts what another process had claimed and not begun when it was looked at", async () => {
  const ledger = new Ledger(await temporaryFolder(), fakeClock(), someProcesses(1).as(1));
  const claims = new BatchClaims(ledger.folder, "0123456789abcdef", fakeClock());
  const deps = { claims, ledger, resubmitUnknown: false, retryFailed: false, countsKey: () => true };
  const budget = new BudgetWatch(await planBatch([], deps), 3, deps);
  const ids = await Promise.all(
    rowsOf("a fox", "a hen").map(({ key }) => claims.claim(key, 1, ledger.newId())),
  );
  expect(await budget.exceeded()).toBeNull();
  const [first, second] = await Promise.all(
    ids.map((id) => ledger.beginAs(id, { ...INTENT, credits: 2 }, null)),
  );
  if (first === undefined || first === "taken" || second === undefined || second === "taken")
    throw new Error("taken");
  await first.file.record(EVENTS.rate_limited);
  expect(await budget.exceeded()).toBeNull();
  await first.file.record(EVENTS.accepted);
  expect((await budget.exceeded())?.message).toContain("would cost 4 credits, and --max-credits is 3");
});
