import { highestCost } from "../../models/cost.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { BatchPlan, TotalCost } from "../batch/plan.ts";
import { BudgetExceededError } from "../errors.ts";

/**
 * Checks a batch against its total budget: what earlier runs may have been charged, including for rows since removed
 * from the manifest, plus what is still to be submitted. @throws BudgetExceededError with both figures; nothing was sent
 */
export function checkBatchBudget(
  { toSubmit, charged, chargedForOthers }: Pick<BatchPlan, "toSubmit" | "charged" | "chargedForOthers">,
  maxCredits: number,
  allowUndocumented: boolean,
): void {
  const undocumented = toSubmit.undocumented + charged.undocumented + chargedForOthers.undocumented;
  const before = charged.credits + chargedForOthers.credits;
  if (undocumented > 0 && !allowUndocumented) {
    throw new BudgetExceededError(
      (names) =>
        `What ${undocumented === 1 ? "1 row costs" : `${undocumented} rows cost`} is not documented, so ${names.maxCredits} cannot be enforced.`,
      {
        hint: ({ noValidate }) =>
          `Nothing was sent. Choose models with a documented cost (imggen models), or add ${noValidate}.`,
      },
    );
  }
  if (before + toSubmit.credits <= maxCredits) return;
  const earlier = before > 0 ? `, ${before} may have been charged for it before` : "";
  throw new BudgetExceededError(
    (names) =>
      `The batch still costs ${toSubmit.credits} credits${earlier}, and ${names.maxCredits} is ${maxCredits}.`,
    { hint: before > maxCredits ? OVERSPENT : "Nothing was sent. Raise the cap, or take rows out." },
  );
}

const OVERSPENT = "Nothing was sent. Raise the cap: charges for rows that were taken out since count too.";

/**
 * The most that requests are likely to cost, in credits: an undocumented cost counts as the highest documented one.
 * Used only to decide whether to ask for confirmation.
 */
export function likelyCredits({ credits, undocumented }: TotalCost, matrix: Matrix): number {
  return credits + undocumented * highestCost(matrix);
}
