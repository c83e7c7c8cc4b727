import { describe, expect, it } from "vitest";
import { BudgetExceededError } from "../../../src/core/errors.ts";
import { checkBudget } from "../../../src/core/limits/request-budget.ts";

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
    expect(() => checkBudget(costing(credits), cap, false)).not.toThrow();
  });

  it.each([
    [8, 2],
    [1, 0],
  ])("refuses %i credits under %i, and names both", (credits, cap) => {
    const check = () => checkBudget(costing(credits), cap, true);
    expect(check).toThrow(BudgetExceededError);
    expect(check).toThrow(new RegExp(`${credits} credits.*${cap}`));
  });

  it("refuses a cost that is not documented, unless that is allowed", () => {
    expect(() => checkBudget(costing(null), 1000, false)).toThrow("vendor1/alpha-pro");
    expect(() => checkBudget(costing(null), 0, true)).not.toThrow();
  });

  it("says that nothing was spent", () => {
    expect(() => checkBudget(costing(8), 2, false)).toThrow(
      expect.objectContaining({ type: "budget_exceeded", charged: "no" }),
    );
  });
});
