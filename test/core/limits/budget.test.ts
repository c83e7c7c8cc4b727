import { describe, expect, it } from "vitest";
import type { TotalCost } from "../../../src/core/batch/plan.ts";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import { checkBatchBudget, checkBudget, likelyCredits } from "../../../src/core/limits/budget.ts";
import { MODELS } from "../../../src/models/matrix.ts";

const STRICT = { matrix: MODELS, allowUndocumented: false };
const LAX = { ...STRICT, allowUndocumented: true };
const NAMES_COSTS = expect.stringContaining("Documented costs: gamma-image-2 (2 to 8 credits), ");
const cost = (credits: number, undocumented = 0): TotalCost => ({ rows: 3, credits, undocumented });
const chargedForOthers = cost(0);

describe("a batch's budget", () => {
  it.each([
    [10, 0, 10],
    [4, 6, 10],
    [0, 10, 10],
    [0, 0, 0],
  ])("takes %i credits still to submit and %i charged before under a cap of %i", (toSubmit, charged, cap) => {
    expect(() =>
      checkBatchBudget({ toSubmit: cost(toSubmit), charged: cost(charged), chargedForOthers }, cap, STRICT),
    ).not.toThrow();
  });

  it.each([
    [11, 0, 10],
    [5, 6, 10],
    [0, 11, 10],
    [1, 0, 0],
  ])(
    "refuses %i still to submit and %i charged before under a cap of %i, with the figures",
    (toSubmit, charged, cap) => {
      const check = () =>
        checkBatchBudget({ toSubmit: cost(toSubmit), charged: cost(charged), chargedForOthers }, cap, STRICT);
      expect(check).toThrow(BudgetExceededError);
      expect(check).toThrow(
        charged === 0
          ? `The batch still costs ${toSubmit} credits, and --max-credits is ${cap}.`
          : `The batch still costs ${toSubmit} credits, ${charged} may have been charged for it before, and --max-credits is ${cap}.`,
      );
    },
  );

  it.each([
    [cost(0, 1), cost(0)],
    [cost(0), cost(0, 1)],
  ])(
    "cannot be kept where a cost is not documented, %j to submit and %j before: documented ones are named",
    (toSubmit, charged) => {
      expect(() => checkBatchBudget({ toSubmit, charged, chargedForOthers }, 1000, STRICT)).toThrow(
        expect.objectContaining({
          message: "What 1 row costs is not documented, so --max-credits cannot be enforced.",
          hint: NAMES_COSTS,
        }),
      );
      expect(() => checkBatchBudget({ toSubmit, charged, chargedForOthers }, 1000, LAX)).not.toThrow();
    },
  );

  it("is kept for what is documented even where the rest may pass", () => {
    expect(() =>
      checkBatchBudget({ toSubmit: cost(11, 1), charged: cost(0), chargedForOthers }, 10, LAX),
    ).toThrow(BudgetExceededError);
  });

  it("counts what rows have cost that were edited out of the manifest", () => {
    const batch = { toSubmit: cost(2), charged: cost(4), chargedForOthers: cost(5) };
    expect(() => checkBatchBudget(batch, 11, STRICT)).not.toThrow();
    expect(() => checkBatchBudget(batch, 10, STRICT)).toThrow(
      /still costs 2 credits, 9 may have been charged/,
    );
    const unpriced = { ...batch, chargedForOthers: cost(0, 1) };
    expect(() => checkBatchBudget(unpriced, 100, STRICT)).toThrow(/1 row costs is not documented/);
  });
});

it.each([
  [5, 6, /Raise the cap, or take rows out\./],
  [5, 11, /Raise the cap: charges for rows that were taken out since count too\./],
])(
  "%i credits to submit and %i charged before over a cap of 10: taking rows out is named where it helps",
  (toSubmit, charged, hint) => {
    const plan = { toSubmit: cost(toSubmit), charged: cost(0), chargedForOthers: cost(charged) };
    expect(() => checkBatchBudget(plan, 10, STRICT)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(hint) }),
    );
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
