import { documentedCosts } from "../../models/cost.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { CheckedRequest } from "../../task/request.ts";
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
