import { ImggenError } from "../../lib/error-types.ts";
import { option, phrase } from "../../lib/wording.ts";
import { assertReadable } from "../../store/ledger-files.ts";
import type { ClaimedAttempt } from "../../store/row-claims.ts";
import { mayBeCharged, spentCredits } from "../../task/task.ts";
import { BudgetExceededError } from "../errors.ts";
import type { Cap } from "../limits/caps.ts";
import { type BatchPlan, type PlanDeps, readAttempt } from "./plan.ts";

/**
 * Budget of a running batch in credits, shared by all processes that submit into the folder. A process claims a row
 * before it checks the budget, so of two processes one finds the other's claim, and the budget is never exceeded.
 */
export function batchCap(plan: BatchPlan, maxCredits: number, deps: PlanDeps): Cap {
  const claims = new ClaimedCredits(plan, deps);
  return {
    async take() {
      try {
        // Before a row is refused, the claims are read again, because other rows might have been refused or withdrawn.
        const isWithin = (await claims.update()) <= maxCredits || (await claims.readAgain()) <= maxCredits;
        return isWithin ? null : budgetExceededError(claims.total, maxCredits);
      } catch (error) {
        // If claims cannot be read, the row is not sent, because the budget cannot be checked.
        if (error instanceof ImggenError) return error;
        throw error;
      }
    },
    // The claims are added up on each call, and the claim of an uncharged task adds nothing, so nothing is given back.
    async giveBack() {},
  };
}

class ClaimedCredits {
  readonly #deps: PlanDeps;
  readonly #before: number;
  readonly #planned: ReadonlySet<string>;
  /** Attempts claimed since the plan, with their cost, by claim name. The cost is null if nothing was charged yet. */
  readonly #claimed = new Map<string, { attempt: ClaimedAttempt; credits: number | null }>();

  constructor({ charged, chargedForOthers, claimed }: BatchPlan, deps: PlanDeps) {
    this.#deps = deps;
    this.#before = charged.credits + chargedForOthers.credits;
    this.#planned = claimed;
  }

  /** Computed on each call, because rows read claims concurrently, and a running total could count a claim twice. */
  get total(): number {
    let sum = this.#before;
    for (const { credits } of this.#claimed.values()) sum += credits ?? 0;
    return sum;
  }

  async update(): Promise<number> {
    const isKnown = (name: string) =>
      this.#planned.has(name) || typeof this.#claimed.get(name)?.credits === "number";
    for (const attempt of await this.#deps.claims.list(isKnown)) await this.#read(attempt);
    return this.total;
  }

  async readAgain(): Promise<number> {
    for (const { attempt } of [...this.#claimed.values()]) await this.#read(attempt);
    return this.total;
  }

  async #read(attempt: ClaimedAttempt): Promise<void> {
    this.#claimed.set(attempt.name, { attempt, credits: await this.#readCredits(attempt) });
  }

  /** Cost of an attempt; null if not charged yet. A waiting task counts while a process might be submitting it. */
  async #readCredits({ row, number }: ClaimedAttempt): Promise<number | null> {
    if (this.#deps.countsKey?.(row) !== true) return 0;
    const entry = await readAttempt({ key: row, attempts: [] }, number - 1, this.#deps);
    // A task whose outcome is lost might have been charged, so its cost counts.
    if (entry?.kind === "lost") return entry.task?.intent.credits ?? null;
    if (entry !== null) assertReadable(entry, "so the cost of the batch is unknown");
    if (entry?.kind !== "task") return null;
    const { task } = entry;
    if (mayBeCharged(task)) return spentCredits(task) ?? 0;
    if (task.state !== "waiting" || !task.intent.isPaid) return 0;
    return this.#deps.ledger.isClaimed(task) ? (task.intent.credits ?? 0) : null;
  }
}

function budgetExceededError(credits: number, cap: number): BudgetExceededError {
  return new BudgetExceededError(
    phrase`With this row the batch would cost ${credits} credits, and ${option("maxCredits")} is ${cap}: another process submits other rows into the same folder.`,
    { hint: "This row was not sent. Raise the cap, or remove rows." },
  );
}
