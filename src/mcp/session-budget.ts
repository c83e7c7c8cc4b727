import { ImggenFailure } from "../client/report-json.ts";
import type { Estimate, TaskSuccess } from "../client/results.ts";
import { BudgetExceededError } from "../core/errors.ts";
import { countableInstead, highestCost } from "../models/cost.ts";
import type { Matrix } from "../models/matrix.ts";

/** What one session may spend by default, in credits. */
export const DEFAULT_MAX_CREDITS = 20;

/** What the session has spent, as every answer tells it. */
export interface SessionCosts {
  maxCredits: number;
  /** Charged, or perhaps charged, in this session. A request of undocumented cost counts as the highest documented one. */
  credits: number;
  /** How many of its requests had no documented cost. */
  undocumentedRequests: number;
}

/**
 * What one session may spend. An agent that repeats itself reaches the cap and no further: each request is counted
 * before it is sent, and taken off again only where it is certain that nothing was charged.
 */
export class SessionBudget {
  readonly #matrix: Matrix;
  readonly #undocumentedCost: number;
  readonly #costs: SessionCosts;

  /**
   * @param matrix what a request of undocumented cost counts as: its highest cost
   * @param maxCredits above the default, requests of undocumented cost need no argument of their own
   */
  constructor(matrix: Matrix, maxCredits = DEFAULT_MAX_CREDITS) {
    this.#matrix = matrix;
    this.#undocumentedCost = highestCost(matrix);
    this.#costs = { maxCredits, credits: 0, undocumentedRequests: 0 };
  }

  get costs(): SessionCosts {
    return { ...this.#costs };
  }

  /**
   * Counts a request, submits it, and takes it off where nothing was charged.
   * @throws BudgetExceededError before anything is sent, or what `submit` throws
   */
  async spend(
    estimate: Estimate,
    allowUndocumentedCost: boolean,
    submit: () => Promise<TaskSuccess>,
  ): Promise<TaskSuccess> {
    this.check(estimate, allowUndocumentedCost);
    this.#count(estimate, 1);
    try {
      const result = await submit();
      if (result.reused) this.#count(estimate, -1);
      return result;
    } catch (error) {
      if (error instanceof ImggenFailure && (error.charged === "no" || error.reused))
        this.#count(estimate, -1);
      throw error;
    }
  }

  /** @throws BudgetExceededError where a request may not be submitted */
  check(estimate: Estimate, allowUndocumentedCost: boolean): void {
    const { maxCredits, credits: spent } = this.#costs;
    const { request, credits } = estimate;
    const cost = this.#costOf(estimate);
    if (credits === null && !allowUndocumentedCost && maxCredits <= DEFAULT_MAX_CREDITS) {
      const otherwise = `pass allowUndocumentedCost: true; it then counts as ${cost} credits`;
      throw new BudgetExceededError(`What ${request.model} costs is not documented.`, {
        hint: `Nothing was sent. ${countableInstead(this.#matrix, otherwise)}`,
      });
    }
    if (spent + cost <= maxCredits) return;
    throw new BudgetExceededError(
      `This session has spent ${spent} of ${maxCredits} credits, and this request counts as ${cost}.`,
      { hint: "Nothing was sent. Ask the user: the cap is set where this server is started." },
    );
  }

  #costOf({ credits, requests = 1 }: Estimate): number {
    return credits ?? requests * this.#undocumentedCost;
  }

  #count(estimate: Estimate, times: 1 | -1): void {
    this.#costs.credits += times * this.#costOf(estimate);
    if (estimate.credits === null) this.#costs.undocumentedRequests += times;
  }
}
