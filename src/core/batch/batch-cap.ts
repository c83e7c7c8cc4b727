import { ImggenError } from "../../lib/error-types.ts";
import { option, phrase } from "../../lib/wording.ts";
import { assertReadable } from "../../store/ledger-files.ts";
import type { ClaimedAttempt } from "../../store/row-claims.ts";
import { mayBeCharged, spentCredits } from "../../task/task.ts";
import { BudgetExceededError } from "../errors.ts";
import type { Cap } from "../limits/caps.ts";
import { type BatchPlan, type PlanDeps, readAttempt } from "./plan.ts";

/**
 * The budget of a batch while it runs, in credits. The plan has checked this run's rows; another process may submit rows of
 * another manifest into the same folder meanwhile, under the same budget. A row's claim announces it: of two processes that
 * reach the budget together, at least one sees the other's claim. Both may withdraw, but never do too many stay.
 */
export function batchCap(plan: BatchPlan, maxCredits: number, deps: PlanDeps): Cap {
  const claims = new ClaimedCredits(plan, deps);
  return {
    async take() {
      try {
        // Some may have been refused or withdrawn since they were read.
        const isWithin = (await claims.update()) <= maxCredits || (await claims.readAgain()) <= maxCredits;
        return isWithin ? null : budgetExceededError(claims.total, maxCredits);
      } catch (error) {
        // Without the other claims the budget cannot be enforced.
        if (error instanceof ImggenError) return error;
        throw error;
      }
    },
    // The sum is read from the claims, and a task that was not charged adds nothing to it.
    async giveBack() {},
  };
}

/** Highest total cost of the claims of a batch: the planned ones and later ones. */
class ClaimedCredits {
  readonly #deps: PlanDeps;
  readonly #before: number;
  readonly #planned: ReadonlySet<string>;
  /** Cost of each attempt that was claimed since the plan, by the claim's name; null if it may still change from nothing. */
  readonly #claimed = new Map<string, { attempt: ClaimedAttempt; credits: number | null }>();

  constructor({ charged, chargedForOthers, claimed }: BatchPlan, deps: PlanDeps) {
    this.#deps = deps;
    this.#before = charged.credits + chargedForOthers.credits;
    this.#planned = claimed;
  }

  /** Added up each time: several rows ask at once, and none may count a claim twice that another is reading. */
  get total(): number {
    let sum = this.#before;
    for (const { credits } of this.#claimed.values()) sum += credits ?? 0;
    return sum;
  }

  /** Reads the claims that are new. @returns the total */
  async update(): Promise<number> {
    const isKnown = (name: string) =>
      this.#planned.has(name) || typeof this.#claimed.get(name)?.credits === "number";
    for (const attempt of await this.#deps.claims.list(isKnown)) await this.#read(attempt);
    return this.total;
  }

  /** Reads each claim again that was made since the plan. @returns the total */
  async readAgain(): Promise<number> {
    for (const { attempt } of [...this.#claimed.values()]) await this.#read(attempt);
    return this.total;
  }

  async #read(attempt: ClaimedAttempt): Promise<void> {
    this.#claimed.set(attempt.name, { attempt, credits: await this.#creditsOf(attempt) });
  }

  /**
   * A waiting request counts while its process lives: it may be submitted already.
   * @returns null if it costs nothing now, and may cost something later
   */
  async #creditsOf({ row, number }: ClaimedAttempt): Promise<number | null> {
    if (this.#deps.countsKey?.(row) !== true) return 0;
    const entry = await readAttempt({ key: row, attempts: [] }, number - 1, this.#deps);
    // A lost request may have been charged.
    if (entry?.kind === "lost") return entry.task?.intent.credits ?? null;
    if (entry !== null) assertReadable(entry, "so it is not known what the batch costs");
    if (entry?.kind !== "task") return null;
    const { task } = entry;
    if (mayBeCharged(task)) return spentCredits(task) ?? 0;
    if (task.state !== "waiting" || !task.intent.isPaid) return 0;
    return this.#deps.ledger.isHeld(task) ? (task.intent.credits ?? 0) : null;
  }
}

function budgetExceededError(credits: number, cap: number): BudgetExceededError {
  return new BudgetExceededError(
    phrase`With this row the batch would cost ${credits} credits, and ${option("maxCredits")} is ${cap}: another process submits other rows into the same folder.`,
    { hint: "This row was not sent. Raise the cap, or take rows out." },
  );
}
