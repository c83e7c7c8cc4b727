import type { Estimate } from "../client/results.ts";
import { BudgetExceededError } from "../core/errors.ts";
import type { Cap, PricedRequest } from "../core/limits/caps.ts";
import { highestCost, unknownCostHint } from "../models/cost.ts";
import type { Matrix } from "../models/matrix.ts";
import type { GenerationRequest } from "../task/request.ts";

export const DEFAULT_MAX_CREDITS = 20;

export interface SessionCosts {
  maxCredits: number;
  /** Possible charges. A request of undocumented cost counts as the highest documented cost. */
  credits: number;
  undocumentedRequests: number;
}

type PricedEstimate = Pick<Estimate, "credits" | "requests"> & { request: Pick<GenerationRequest, "model"> };

/** Counts a request before its submit, and subtracts it only if nothing was charged, so the cap is never exceeded. */
export class SessionBudget implements Cap {
  readonly #matrix: Matrix;
  readonly #undocumentedCost: number;
  readonly #costs: SessionCosts;
  readonly #allowedModels = new Set<string>();

  /** @param maxCredits cap. If it is above the default, requests of undocumented cost need no permission. */
  constructor(matrix: Matrix, maxCredits = DEFAULT_MAX_CREDITS) {
    this.#matrix = matrix;
    this.#undocumentedCost = highestCost(matrix);
    this.#costs = { maxCredits, credits: 0, undocumentedRequests: 0 };
  }

  get costs(): SessionCosts {
    return { ...this.#costs };
  }

  /**
   * @param allowUndocumentedCost whether the user allows undocumented costs of this and later requests to the model
   * @throws BudgetExceededError if the request must not be submitted
   */
  check(estimate: Estimate, allowUndocumentedCost: boolean): void {
    if (allowUndocumentedCost) this.#allowedModels.add(estimate.request.model);
    const error = this.#refusal(estimate, allowUndocumentedCost);
    if (error !== null) throw error;
  }

  async take({ task, credits }: PricedRequest): Promise<BudgetExceededError | null> {
    const { request } = task.intent;
    const estimate = { request, credits };
    const error = this.#refusal(estimate, this.#allowedModels.has(request.model));
    if (error === null) this.#count(estimate, 1);
    return error;
  }

  async giveBack({ task, credits }: PricedRequest): Promise<void> {
    this.#count({ request: task.intent.request, credits }, -1);
  }

  #refusal(estimate: PricedEstimate, allowUndocumentedCost: boolean): BudgetExceededError | null {
    const { maxCredits, credits: spentCredits } = this.#costs;
    const { request, credits } = estimate;
    const cost = this.#getCost(estimate);
    if (credits === null && !allowUndocumentedCost && maxCredits <= DEFAULT_MAX_CREDITS) {
      const allowance = `To submit the request anyway, pass allowUndocumentedCost: true. The request then counts as ${cost} credits.`;
      return new BudgetExceededError(`The cost of ${request.model} is not documented.`, {
        hint: ["Nothing was sent.", unknownCostHint(this.#matrix, allowance)],
      });
    }
    if (spentCredits + cost <= maxCredits) return null;
    return new BudgetExceededError(
      `This session has spent ${spentCredits} of ${maxCredits} credits, and this request counts as ${cost}.`,
      { hint: "Nothing was sent. Ask the user to restart this server with a higher cap." },
    );
  }

  #getCost({ credits, requests = 1 }: PricedEstimate): number {
    return credits ?? requests * this.#undocumentedCost;
  }

  #count(estimate: PricedEstimate, sign: 1 | -1): void {
    this.#costs.credits += sign * this.#getCost(estimate);
    if (estimate.credits === null) this.#costs.undocumentedRequests += sign;
  }
}
