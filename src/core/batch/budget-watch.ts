import { ImggenError } from "../../lib/error-types.ts";
import type { ClaimedAttempt } from "../../store/claim-reader.ts";
import { requireReadable } from "../../store/ledger-files.ts";
import { mayBeCharged, spentCredits } from "../../task/task.ts";
import { BudgetExceededError } from "../errors.ts";
import { readAttempt } from "./attempts.ts";
import type { BatchPlan, PlanDeps } from "./plan.ts";

/**
 * The budget of a batch while it runs. The plan has checked this run's rows; another process may submit rows of another
 * manifest into the same folder meanwhile, under the same budget.
 */
export class BudgetWatch {
  readonly #cap: number;
  readonly #deps: PlanDeps;
  readonly #before: number;
  readonly #planned: ReadonlySet<string>;
  /** What each attempt that was claimed since the plan may cost, by the claim's name; null where that is still to be asked. */
  readonly #claimed = new Map<string, { attempt: ClaimedAttempt; credits: number | null }>();

  constructor({ charged, chargedForOthers, claimed }: BatchPlan, cap: number, deps: PlanDeps) {
    this.#cap = cap;
    this.#deps = deps;
    this.#before = charged.credits + chargedForOthers.credits;
    this.#planned = claimed;
  }

  /**
   * Whether the rows claimed so far exceed the budget. Asked after a row is claimed and before it is sent: of two
   * processes that reach the budget together, each sees the other's claim. Both may withdraw, but never do too many stay.
   * @returns the error for the user; null if the row may be sent
   */
  async exceeded(): Promise<ImggenError | null> {
    try {
      return await this.#exceeded();
    } catch (error) {
      // Without the other claims the budget cannot be enforced.
      if (error instanceof ImggenError) return error;
      throw error;
    }
  }

  async #exceeded(): Promise<ImggenError | null> {
    const isKnown = (name: string) =>
      this.#planned.has(name) || typeof this.#claimed.get(name)?.credits === "number";
    for (const attempt of await this.#deps.claims.list(isKnown)) await this.#read(attempt);
    if (this.#credits <= this.#cap) return null;
    // Some may have been refused or withdrawn since they were read.
    for (const { attempt } of [...this.#claimed.values()]) await this.#read(attempt);
    const credits = this.#credits;
    return credits <= this.#cap ? null : exceeded(credits, this.#cap);
  }

  /** Added up each time: several rows ask at once, and none may count a claim that another is reading twice. */
  get #credits(): number {
    let sum = this.#before;
    for (const { credits } of this.#claimed.values()) sum += credits ?? 0;
    return sum;
  }

  async #read(attempt: ClaimedAttempt): Promise<void> {
    this.#claimed.set(attempt.name, { attempt, credits: await this.#creditsOf(attempt) });
  }

  /**
   * What is submitted again after a 429 does not ask here a second time, so it counts while it waits.
   * @returns null where its task is not begun yet, or where its process ended while it waited: it may cost something later
   */
  async #creditsOf({ row, number }: ClaimedAttempt): Promise<number | null> {
    if (this.#deps.countsKey?.(row) !== true) return 0;
    const entry = await readAttempt({ key: row, attempts: [] }, number - 1, this.#deps);
    // A lost request may have been charged.
    if (entry?.kind === "lost") return entry.record?.intent.credits ?? null;
    if (entry !== null) requireReadable(entry, "so it is not known what the batch costs");
    if (entry?.kind !== "task") return null;
    const { record } = entry;
    if (mayBeCharged(record)) return spentCredits(record) ?? 0;
    return record.state.name === "rate_limited" ? null : 0;
  }
}

function exceeded(credits: number, cap: number): BudgetExceededError {
  return new BudgetExceededError(
    ({ maxCredits }) =>
      `With this row the batch would cost ${credits} credits, and ${maxCredits} is ${cap}: another process submits other rows into the same folder.`,
    { hint: "This row was not sent. Raise the cap, or take rows out." },
  );
}
