import path from "node:path";
import { describe, expect, it } from "vitest";
import type { TotalCost } from "../../../src/core/batch/plan.ts";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import {
  checkBatchBudget,
  checkBudget,
  checkDailyLimit,
  dayCap,
  likelyCredits,
} from "../../../src/core/limits/budget.ts";
import { type Cap, type PricedRequest, takeFromCaps } from "../../../src/core/limits/caps.ts";
import { MODELS } from "../../../src/models/matrix.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { StateFolderError } from "../../../src/store/store-errors.ts";
import type { Intent } from "../../../src/task/intent.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { INTENT } from "../../support/records.ts";
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
    [10, 0, 10, null],
    [4, 6, 10, null],
    [0, 10, 10, null],
    [0, 0, 0, null],
    [11, 0, 10, "The batch costs 11 credits"],
    [1, 0, 0, "The batch costs 1 credits"],
    [5, 6, 10, "The batch still costs 5 credits, earlier runs may have been charged 6"],
    [0, 11, 10, "The batch still costs 0 credits, earlier runs may have been charged 11"],
  ])(
    "for %i credits to submit and %i charged before, under a cap of %i, says %s",
    (toSubmit, charged, cap, said) => {
      const check = () => checkBatchBudget(batch(cost(toSubmit), cost(charged)), cap, STRICT);
      if (said === null) return expect(check).not.toThrow();
      expect(check).toThrow(BudgetExceededError);
      expect(check).toThrow(`${said}, and --max-credits is ${cap}.`);
    },
  );

  it.each([
    [cost(0, 1), cost(0), "cost of 1 row", NAMES_COSTS],
    [
      cost(8),
      cost(0, 1),
      "cost of 1 row of an earlier run",
      "Nothing was sent. To exclude that cost from the budget, add --no-validate.",
    ],
  ])(
    "cannot be kept where a cost is not documented, %j to submit and %j before: says of which rows",
    (toSubmit, charged, what, hint) => {
      expect(() => checkBatchBudget(batch(toSubmit, charged), 1000, STRICT)).toThrow(
        expect.objectContaining({
          message: `The ${what} is not documented, so --max-credits cannot be enforced.`,
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
    expect(() => check(10)).toThrow(/still costs 2 credits, earlier runs may have been charged 9/);
    expect(() => check(100, cost(0, 1))).toThrow(/cost of 1 row of an earlier run is not documented/);
  });
});

it.each([
  [5, 6, /Raise the cap, or remove rows\./],
  [5, 11, /Raise the cap: charges of earlier runs count, even for rows removed since\./],
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
    [2, 2, true],
    [0, 0, true],
    [8, 2, false],
    [1, 0, false],
  ])("of %i credits under %i is %s", (credits, cap, passes) => {
    const check = () => checkBudget(costing(credits), cap, LAX);
    if (passes) return expect(check).not.toThrow();
    const message = expect.stringMatching(new RegExp(`${credits} credits.*${cap}`));
    expect(check).toThrow(expect.objectContaining({ type: "budget_exceeded", charged: "no", message }));
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
});

const KEY = INTENT.service.keyId;

/** A ledger at ten in the morning, where the user is. */
async function newDay(dailyCredits: number | null) {
  const state = await temporaryFolder();
  const clock = fakeClock(new Date(2026, 0, 31, 10).getTime());
  const ledger = new Ledger(state, clock, someProcesses(1).as(1));
  const deps = { ledger, clock, dailyCredits };
  const cap = dayCap(deps);
  const priced = (credits: number | null, intent: Partial<Intent> = {}): PricedRequest => {
    const task = { id: ledger.newId(), intent: { ...INTENT, credits, ...intent }, parts: 1 };
    return { task, request: 0, credits };
  };
  /** Counts a request that is submitted without a limit. */
  const buy = async (...what: Parameters<typeof priced>) => {
    expect(await dayCap({ ...deps, dailyCredits: null }).take(priced(...what))).toBeNull();
  };
  return { deps, ledger, clock, cap, priced, buy, state };
}

describe("before a batch is begun", () => {
  it("it passes where it fits into what is left of the day, and is refused with the figures where it does not", async () => {
    const { deps, buy } = await newDay(10);
    await buy(4);
    await expect(checkDailyLimit(cost(6), KEY, deps, STRICT)).resolves.toBeUndefined();
    const check = checkDailyLimit(cost(7), KEY, deps, STRICT);
    await expect(check).rejects.toBeInstanceOf(BudgetExceededError);
    await expect(check).rejects.toMatchObject({
      message: "4 credits were spent today, the submit costs 7 more, and dailyCredits is 10.",
      hint: expect.stringContaining("imggen config set dailyCredits"),
      charged: "no",
    });
  });

  it("the day is the user's own, from midnight to midnight, and what another key spent does not count", async () => {
    const { deps, buy, clock } = await newDay(10);
    await buy(9, { service: { ...INTENT.service, keyId: "fedcba9876543210" } });
    await buy(9);
    clock.advance(14 * 3_600_000 - 1);
    await expect(checkDailyLimit(cost(1), KEY, deps, STRICT)).resolves.toBeUndefined();
    await expect(checkDailyLimit(cost(2), KEY, deps, STRICT)).rejects.toBeInstanceOf(BudgetExceededError);
    clock.advance(1);
    await expect(checkDailyLimit(cost(10), KEY, deps, STRICT)).resolves.toBeUndefined();
  });

  it("nothing to submit always passes, and so does everything without a limit", async () => {
    const { deps, buy } = await newDay(10);
    await buy(99);
    await expect(checkDailyLimit(cost(0), KEY, deps, STRICT)).resolves.toBeUndefined();
    const without = { ...deps, dailyCredits: null };
    await expect(checkDailyLimit(cost(1000, 5), KEY, without, STRICT)).resolves.toBeUndefined();
  });

  it("what cannot be counted is refused with what can, unless it is allowed", async () => {
    const { deps } = await newDay(10);
    await expect(checkDailyLimit(cost(0, 1), KEY, deps, STRICT)).rejects.toMatchObject({
      message: "The cost of this request is not documented, so dailyCredits cannot be enforced.",
      hint: NAMES_COSTS,
    });
    await expect(checkDailyLimit(cost(4, 1), KEY, deps, LAX)).resolves.toBeUndefined();
  });
});

describe("a request that is about to be submitted", () => {
  it("may be sent within the limit, and not if it is one too many, which then does not count and is told", async () => {
    const { cap, priced, buy } = await newDay(4);
    await buy(2);
    expect(await cap.take(priced(1))).toBeNull();
    expect(await cap.take(priced(2))).toMatchObject({
      type: "budget_exceeded",
      message: "3 credits were spent today, the submit costs 2 more, and dailyCredits is 4.",
    });
    expect(await cap.take(priced(1))).toBeNull();
  });

  it("fits again when another was not charged", async () => {
    const { cap, priced } = await newDay(2);
    const [one, other] = [priced(2), priced(2)];
    expect(await cap.take(one)).toBeNull();
    expect(await cap.take(other)).toMatchObject({ type: "budget_exceeded" });
    await cap.giveBack(one);
    expect(await cap.take(other)).toBeNull();
  });

  it("counts once, however often it is submitted, and as two if two of its task are", async () => {
    const { cap, priced } = await newDay(4);
    const one = priced(2);
    for (let attempt = 0; attempt < 3; attempt++) expect(await cap.take(one)).toBeNull();
    expect(await cap.take({ ...one, request: 1 })).toBeNull();
    expect(await cap.take(priced(1))).toMatchObject({ type: "budget_exceeded" });
  });

  it("counts for the day on which it is submitted, and is given back there", async () => {
    const { cap, priced, clock } = await newDay(2);
    const one = priced(2);
    expect(await cap.take(one)).toBeNull();
    clock.advance(24 * 3_600_000);
    const other = priced(2);
    expect(await cap.take(other)).toBeNull();
    await cap.giveBack(one);
    expect(await cap.take(priced(2))).toMatchObject({ type: "budget_exceeded" });
  });

  it("may be sent without a limit, and if it costs nothing", async () => {
    const { deps, cap, priced, buy } = await newDay(1);
    await buy(5);
    expect(await dayCap({ ...deps, dailyCredits: null }).take(priced(5))).toBeNull();
    expect(await takeFromCaps([cap], priced(0, { isPaid: false }).task, 0)).toBeNull();
  });

  it("may not be sent if the day cannot be summed: the limit could not be kept", async () => {
    const { deps, state, priced } = await newDay(10);
    // A name that is too long for the system is as unreadable as a folder can be, even for root.
    const ledger = new Ledger(path.join(state, "x".repeat(300)), deps.clock, someProcesses(1).as(1));
    expect(await dayCap({ ...deps, ledger }).take(priced(1))).toBeInstanceOf(StateFolderError);
  });
});

describe("several caps", () => {
  const capOf = (refusal: BudgetExceededError | null, steps: string[], name: string): Cap => ({
    async take({ request, credits }) {
      steps.push(`${name} take ${request}: ${credits}`);
      return refusal;
    },
    async giveBack() {
      steps.push(`${name} back`);
    },
  });

  it("are asked in their order with the price of one request, and what one refuses is given back to those before it", async () => {
    const steps: string[] = [];
    const no = new BudgetExceededError("No.", {});
    const caps = [capOf(null, steps, "one"), capOf(no, steps, "two"), capOf(null, steps, "three")];
    const intent = { ...INTENT, credits: 6, requests: 3 };
    expect(await takeFromCaps(caps, { id: "x", intent, parts: 1 }, 1)).toBe(no);
    expect(steps).toEqual(["one take 1: 2", "two take 1: 2", "one back"]);
  });
});
