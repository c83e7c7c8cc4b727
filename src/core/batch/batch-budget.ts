import { BudgetExceededError } from "../errors.ts";
import type { BatchPlan, Cost } from "./plan.ts";

/**
 * Holds a batch to the budget of the whole of it: what may have been charged in earlier runs, and what is
 * still to be bought. @throws BudgetExceededError naming both; nothing was sent
 */
export function checkBatchBudget(
  { toBuy, charged }: Pick<BatchPlan, "toBuy" | "charged">,
  maxCredits: number,
  allowUndocumented: boolean,
): void {
  const undocumented = toBuy.undocumented + charged.undocumented;
  if (undocumented > 0 && !allowUndocumented) {
    throw new BudgetExceededError(
      `What ${undocumented === 1 ? "1 row costs" : `${undocumented} rows cost`} is not documented, so no cap can be kept.`,
      {
        hint: "Nothing was sent. Choose models with a documented cost (imggen models), or add --no-validate.",
      },
    );
  }
  if (charged.credits + toBuy.credits <= maxCredits) return;
  const before = charged.credits > 0 ? `, ${charged.credits} may have been charged for it before` : "";
  throw new BudgetExceededError(
    `The batch still costs ${toBuy.credits} credits${before}, and --max-credits is ${maxCredits}.`,
    { hint: "Nothing was sent. Raise the cap, or take rows out." },
  );
}

/** Whether a person is to say yes first. @param confirmAbove credits */
export function needsConfirmation({ credits }: Cost, confirmAbove: number): boolean {
  return credits > confirmAbove;
}
