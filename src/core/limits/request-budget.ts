import type { CheckedRequest } from "../../task/request.ts";
import { BudgetExceededError } from "../errors.ts";

/**
 * Refuses a request that would cost more than the user allows, before anything is sent.
 * @param allowUndocumented whether a model without a documented cost passes under a cap
 * @throws BudgetExceededError
 */
export function checkBudget(
  { request, credits }: CheckedRequest,
  maxCredits: number,
  allowUndocumented: boolean,
): void {
  if (credits === null) {
    if (allowUndocumented) return;
    throw new BudgetExceededError(
      `What ${request.model} costs is not documented, so --max-credits cannot be enforced.`,
      {
        hint: "Nothing was sent. Choose a model with a documented cost (imggen models), or add --no-validate.",
      },
    );
  }
  if (credits <= maxCredits) return;
  throw new BudgetExceededError(
    `This request costs ${credits} credits, and --max-credits is ${maxCredits}.`,
    {
      hint: "Nothing was sent. Raise the cap, or choose a cheaper model or quality (imggen models).",
    },
  );
}
