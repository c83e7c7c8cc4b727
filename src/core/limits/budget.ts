import { documentedCosts, highestCost } from "../../models/cost.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { BatchPlan, TotalCost } from "../batch/plan.ts";
import { BudgetExceededError } from "../errors.ts";

/**
 * Refuses a request that would cost more than the user allows, before anything is sent.
 * @param matrix names the models whose cost is documented
 * @param allowUndocumented whether a model without a documented cost passes under a cap
 * @throws BudgetExceededError
 */
export function checkBudget(
  { request, credits }: CheckedRequest,
  maxCredits: number,
  matrix: Matrix,
  allowUndocumented: boolean,
): void {
  if (credits === null) {
    if (allowUndocumented) return;
    throw new BudgetExceededError(
      (names) => `What ${request.model} costs is not documented, so ${names.maxCredits} cannot be enforced.`,
      {
        hint: ({ noValidate }) =>
          `Nothing was sent. Choose a model with a documented cost, or add ${noValidate}.\n${documentedCosts(matrix)}`,
      },
    );
  }
  if (credits <= maxCredits) return;
  throw new BudgetExceededError(
    (names) => `This request costs ${credits} credits, and ${names.maxCredits} is ${maxCredits}.`,
    {
      hint: "Nothing was sent. Raise the cap, or choose a cheaper model or quality (imggen models).",
    },
  );
}

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
