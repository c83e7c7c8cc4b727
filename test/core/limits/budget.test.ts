import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { TotalCost } from "../../../src/core/batch/plan.ts";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import {
  checkBatchBudget,
  checkBudget,
  checkDailyLimit,
  likelyCredits,
  overDailyLimit,
} from "../../../src/core/limits/budget.ts";
import { MODELS } from "../../../src/models/matrix.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { StateFolderError } from "../../../src/store/store-errors.ts";
import type { Intent } from "../../../src/task/intent.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { finishTask } from "../../support/finish-task.ts";
import { EVENTS, INTENT } from "../../support/records.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const STRICT = { matrix: MODELS, allowUndocumented: false };
const LAX = { ...STRICT, allowUndocumented: true };
const NAMES_COSTS = expect.stringContaining("Documented costs: gamma-image-2 (2 to 8 credits), ");
const cost = (credits: number, undocumented = 0): TotalCost => ({ rows: 3, credits, undocumented });
const batch = (toSubmit: TotalCost, charged = cost(0), chargedForOthers = cost(0)) => ({
  toSubmit,
  charged,
  chargedForOthers,
});

describe("a batch's budget", () => {
  it.each([
    [10, 0, 10],
    [4, 6, 10],
    [0, 10, 10],
    [0, 0, 0],
  ])("takes %i credits still to submit and %i charged before under a cap of %i", (toSubmit, charged, cap) => {
    expect(() => checkBatchBudget(batch(cost(toSubmit), cost(charged)), cap, STRICT)).not.toThrow();
  });

  it.each([
    [11, 0, 10],
    [5, 6, 10],
    [0, 11, 10],
    [1, 0, 0],
  ])(
    "refuses %i still to submit and %i charged before under a cap of %i, with the figures",
    (toSubmit, charged, cap) => {
      const check = () => checkBatchBudget(batch(cost(toSubmit), cost(charged)), cap, STRICT);
      expect(check).toThrow(BudgetExceededError);
      expect(check).toThrow(
        charged === 0
          ? `The batch costs ${toSubmit} credits, and --max-credits is ${cap}.`
          : `The batch still costs ${toSubmit} credits, ${charged} may have been charged for it before, and --max-credits is ${cap}.`,
      );
    },
  );

  it.each([
    [cost(0, 1), cost(0), "1 row costs", NAMES_COSTS],
    [
      cost(8),
      cost(0, 1),
      "1 row of an earlier run costs",
      "Nothing was sent. To leave that out of the budget, add --no-validate.",
    ],
  ])(
    "cannot be kept where a cost is not documented, %j to submit and %j before: says of which rows",
    (toSubmit, charged, what, hint) => {
      expect(() => checkBatchBudget(batch(toSubmit, charged), 1000, STRICT)).toThrow(
        expect.objectContaining({
          message: `What ${what} is not documented, so --max-credits cannot be enforced.`,
          hint,
        }),
      );
      expect(() => checkBatchBudget(batch(toSubmit, charged), 1000, LAX)).not.toThrow();
    },
  );

  it("is kept for what is documented even where the rest may pass", () => {
    expect(() => checkBatchBudget(batch(cost(11, 1)), 10, LAX)).toThrow(BudgetExceededError);
  });

  it("counts what rows have cost that were edited out of the manifest", () => {
    const check = (cap: number, others = cost(5)) =>
      checkBatchBudget(batch(cost(2), cost(4), others), cap, STRICT);
    expect(() => check(11)).not.toThrow();
    expect(() => check(10)).toThrow(/still costs 2 credits, 9 may have been charged/);
    expect(() => check(100, cost(0, 1))).toThrow(/1 row of an earlier run costs is not documented/);
  });
});

it.each([
  [5, 6, /Raise the cap, or take rows out\./],
  [5, 11, /Raise the cap: charges for rows that were taken out since count too\./],
])(
  "%i credits to submit and %i charged before over a cap of 10: taking rows out is named where it helps",
  (toSubmit, charged, hint) => {
    const plan = batch(cost(toSubmit), cost(0), cost(charged));
    const error = expect.objectContaining({ hint: expect.stringMatching(hint) });
    expect(() => checkBatchBudget(plan, 10, STRICT)).toThrow(error);
  },
);

it("what is not documented counts as the highest documented cost in the question of consent", () => {
  expect(likelyCredits(cost(100), MODELS)).toBe(100);
  expect(likelyCredits(cost(4, 2), MODELS)).toBe(4 + 2 * 8);
});

const costing = (credits: number | null) => ({
  request: { prompt: "a fox", model: "vendor1/alpha-pro" },
  credits,
  warnings: [],
});

describe("a cap on what a request may cost", () => {
  it.each([
    [2, 2],
    [2, 100],
    [0, 0],
  ])("lets %i credits pass under %i", (credits, cap) => {
    expect(() => checkBudget(costing(credits), cap, STRICT)).not.toThrow();
  });

  it.each([
    [8, 2],
    [1, 0],
  ])("refuses %i credits under %i, and names both", (credits, cap) => {
    const check = () => checkBudget(costing(credits), cap, LAX);
    expect(check).toThrow(BudgetExceededError);
    expect(check).toThrow(new RegExp(`${credits} credits.*${cap}`));
  });

  it("refuses a cost that is not documented, unless that is allowed", () => {
    expect(() => checkBudget(costing(null), 1000, STRICT)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("vendor1/alpha-pro"),
        hint: expect.stringContaining(
          "Documented costs: gamma-image-2 (2 to 8 credits), gamma-image-2-5-flare-text (3 to 8 credits), ",
        ),
      }),
    );
    expect(() => checkBudget(costing(null), 0, LAX)).not.toThrow();
  });

  it("says that nothing was spent", () => {
    expect(() => checkBudget(costing(8), 2, STRICT)).toThrow(
      expect.objectContaining({ type: "budget_exceeded", charged: "no" }),
    );
  });
});

const KEY = INTENT.service.keyId;

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
