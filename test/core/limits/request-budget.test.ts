import { describe, expect, it } from "vitest";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import { checkBudget } from "../../../src/core/limits/request-budget.ts";
import { MODELS } from "../../../src/models/matrix.ts";

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
    expect(() => checkBudget(costing(credits), cap, MODELS, false)).not.toThrow();
  });

  it.each([
    [8, 2],
    [1, 0],
  ])("refuses %i credits under %i, and names both", (credits, cap) => {
    const check = () => checkBudget(costing(credits), cap, MODELS, true);
    expect(check).toThrow(BudgetExceededError);
    expect(check).toThrow(new RegExp(`${credits} credits.*${cap}`));
  });

  it("refuses a cost that is not documented, unless that is allowed", () => {
    expect(() => checkBudget(costing(null), 1000, MODELS, false)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("vendor1/alpha-pro"),
        hint: expect.stringContaining(
          "Documented costs: gamma-image-2 (2 to 8 credits), gamma-image-2-5-flare-text (3 to 8 credits), ",
        ),
      }),
    );
    expect(() => checkBudget(costing(null), 0, MODELS, true)).not.toThrow();
  });

  it("says that nothing was spent", () => {
    expect(() => checkBudget(costing(8), 2, MODELS, false)).toThrow(
      expect.objectContaining({ type: "budget_exceeded", charged: "no" }),
    );
  });
});
