import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import { checkDailyLimit, overDailyLimit } from "../../../src/core/limits/budget.ts";
import { MODELS } from "../../../src/models/matrix.ts";
import { StateFolderError } from "../../../src/store/errors.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import type { Intent } from "../../../src/task/intent.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { finishTask } from "../../support/finish-task.ts";
import { EVENTS, INTENT } from "../../support/records.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const STRICT = { matrix: MODELS, allowUndocumented: false };
const LAX = { ...STRICT, allowUndocumented: true };
const NAMES_COSTS = expect.stringContaining("Documented costs: gamma-image-2 (2 to 8 credits), ");
const KEY = INTENT.service.keyId;
const cost = (credits: number, undocumented = 0) => ({ credits, undocumented });

/** A ledger at ten in the morning, where the user is. */
async function newDay(dailyCredits: number | null) {
  const state = await temporaryFolder();
  const clock = fakeClock(new Date(2026, 0, 31, 10).getTime());
  const ledger = new Ledger(state, clock, someProcesses(1).as(1));
  const buy = async (credits: number | null, intent: Partial<Intent> = {}) => {
    const task = await ledger.begin({ ...INTENT, credits, ...intent });
    onTestFinished(() => task.file.close());
    return task;
  };
  return { deps: { ledger, clock, dailyCredits }, ledger, clock, buy, state };
}

describe("before a batch is begun", () => {
  it("it passes where it fits into what is left of the day, to the last credit", async () => {
    const { deps, buy } = await newDay(10);
    await buy(4);
    await expect(checkDailyLimit(cost(6), KEY, deps, STRICT)).resolves.toBeUndefined();
  });

  it("it is refused where it does not, with what was spent, what it costs and the limit", async () => {
    const { deps, buy } = await newDay(10);
    await buy(4);
    const check = checkDailyLimit(cost(7), KEY, deps, STRICT);
    await expect(check).rejects.toBeInstanceOf(BudgetExceededError);
    await expect(check).rejects.toMatchObject({
      message: "4 credits were spent today, this costs 7 more, and dailyCredits is 10.",
      hint: expect.stringContaining("imggen config set dailyCredits"),
      charged: "no",
    });
  });

  it("what another key spent does not count, nor what was spent yesterday", async () => {
    const { deps, buy, clock } = await newDay(10);
    await buy(9, { service: { ...INTENT.service, keyId: "fedcba9876543210" } });
    await buy(9);
    clock.advance(14 * 3_600_000);
    await expect(checkDailyLimit(cost(10), KEY, deps, STRICT)).resolves.toBeUndefined();
  });

  it("the day is the user's own, from midnight to midnight", async () => {
    const { deps, buy, clock } = await newDay(10);
    await buy(9);
    clock.advance(14 * 3_600_000 - 1);
    await expect(checkDailyLimit(cost(2), KEY, deps, STRICT)).rejects.toBeInstanceOf(BudgetExceededError);
    clock.advance(1);
    await expect(checkDailyLimit(cost(2), KEY, deps, STRICT)).resolves.toBeUndefined();
  });

  it("nothing to submit always passes, and so does everything without a limit", async () => {
    const { deps, buy } = await newDay(10);
    await buy(99);
    await expect(checkDailyLimit(cost(0), KEY, deps, STRICT)).resolves.toBeUndefined();
    const without = { ...deps, dailyCredits: null };
    await expect(checkDailyLimit(cost(1000, 5), KEY, without, STRICT)).resolves.toBeUndefined();
  });

  it("a limit of 0 is a limit", async () => {
    const { deps } = await newDay(0);
    await expect(checkDailyLimit(cost(1), KEY, deps, STRICT)).rejects.toBeInstanceOf(BudgetExceededError);
  });

  it("what cannot be counted is refused with what can, unless it is allowed", async () => {
    const { deps } = await newDay(10);
    await expect(checkDailyLimit(cost(0, 1), KEY, deps, STRICT)).rejects.toMatchObject({
      message: "What this costs is not documented, so dailyCredits cannot be enforced.",
      hint: NAMES_COSTS,
    });
    await expect(checkDailyLimit(cost(4, 1), KEY, deps, LAX)).resolves.toBeUndefined();
  });
});

describe("a request whose intent is recorded and not yet sent", () => {
  it("may be sent where all of the day, itself included, is within the limit", async () => {
    const { deps, buy } = await newDay(4);
    await buy(2);
    const { record } = await buy(2);
    expect(await overDailyLimit(record, deps)).toBeNull();
  });

  it("may not where it is one too many; what was spent without it is told", async () => {
    const { deps, buy } = await newDay(4);
    await buy(3);
    const { record } = await buy(2);
    expect(await overDailyLimit(record, deps)).toMatchObject({
      type: "budget_exceeded",
      message: "3 credits were spent today, this costs 2 more, and dailyCredits is 4.",
    });
  });

  it("is told of both, where two come to the limit at once: never too many stay", async () => {
    const { deps, buy } = await newDay(2);
    const both = await Promise.all([buy(2), buy(2)]);
    const answers = await Promise.all(both.map(({ record }) => overDailyLimit(record, deps)));
    expect(answers.map((answer) => answer?.type)).toEqual(["budget_exceeded", "budget_exceeded"]);
  });

  it("fits again when another that was one too many has withdrawn", async () => {
    const { deps, buy, ledger } = await newDay(2);
    const one = await buy(2);
    const other = await buy(2);
    // The ledger now knows the sum with the other task included, and has to read that task again.
    expect(await overDailyLimit(other.record, deps)).toMatchObject({ type: "budget_exceeded" });
    await other.file.record(EVENTS.not_sent);
    await finishTask(ledger, other);
    expect(await overDailyLimit(one.record, deps)).toBeNull();
  });

  it("may be sent where there is no limit, or where it costs nothing", async () => {
    const { deps, buy } = await newDay(1);
    const { record } = await buy(5);
    expect(await overDailyLimit(record, { ...deps, dailyCredits: null })).toBeNull();
    expect(await overDailyLimit({ ...record, intent: { ...record.intent, credits: 0 } }, deps)).toBeNull();
  });

  it("may not be sent where the day cannot be summed: the limit could not be kept", async () => {
    const { deps, state, buy } = await newDay(10);
    const { record } = await buy(1);
    // A name that is too long for the system is as unreadable as a folder can be, even for root.
    const ledger = new Ledger(path.join(state, "x".repeat(300)), deps.clock, someProcesses(1).as(1));
    expect(await overDailyLimit(record, { ...deps, ledger })).toBeInstanceOf(StateFolderError);
  });
});
