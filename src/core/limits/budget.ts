import { ImggenError } from "../../lib/error-types.ts";
import type { OptionNames } from "../../lib/wording.ts";
import { countableInstead, highestCost } from "../../models/cost.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { Task } from "../../task/task.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { BatchPlan, TotalCost } from "../batch/plan.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { BudgetExceededError } from "../engine/errors.ts";

/** What decides about requests without a documented cost, wherever a limit is set. */
export interface CostRules {
  /** The models to choose from. */
  matrix: Matrix;
  /** Whether such a request passes, although it cannot be counted. */
  allowUndocumented: boolean;
}

/** Refuses a request that would cost more than the user allows, before anything is sent. @throws BudgetExceededError */
export function checkBudget(
  { request, credits }: CheckedRequest,
  maxCredits: number,
  rules: CostRules,
): void {
  if (credits === null) {
    if (rules.allowUndocumented) return;
    throw uncountable(`${request.model} costs`, "maxCredits", rules.matrix);
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
  rules: CostRules,
): void {
  const undocumented = toSubmit.undocumented + charged.undocumented + chargedForOthers.undocumented;
  const before = charged.credits + chargedForOthers.credits;
  if (undocumented > 0 && !rules.allowUndocumented) {
    if (toSubmit.undocumented === 0) throw uncountableBefore(undocumented);
    const what = undocumented === 1 ? "1 row costs" : `${undocumented} rows cost`;
    throw uncountable(what, "maxCredits", rules.matrix);
  }
  if (before + toSubmit.credits <= maxCredits) return;
  const costs = before > 0 ? "still costs" : "costs";
  const earlier = before > 0 ? `, ${before} may have been charged for it before` : "";
  throw new BudgetExceededError(
    (names) =>
      `The batch ${costs} ${toSubmit.credits} credits${earlier}, and ${names.maxCredits} is ${maxCredits}.`,
    { hint: before > maxCredits ? OVERSPENT : "Nothing was sent. Raise the cap, or take rows out." },
  );
}

const OVERSPENT = "Nothing was sent. Raise the cap: charges for rows that were taken out since count too.";

/** The refusal of a cost that no limit can count. @param what costs it, as in `1 row costs` */
function uncountable(
  what: string,
  limit: "maxCredits" | "dailyCredits",
  matrix: Matrix,
): BudgetExceededError {
  const nameIn = ({ maxCredits }: OptionNames) => (limit === "maxCredits" ? maxCredits : limit);
  return new BudgetExceededError(
    (names) => `What ${what} is not documented, so ${nameIn(names)} cannot be enforced.`,
    {
      hint: ({ noValidate }) => `Nothing was sent. ${countableInstead(matrix, `add ${noValidate}`)}`,
    },
  );
}

/** No choice of a model makes countable what an earlier run has submitted. */
function uncountableBefore(rows: number): BudgetExceededError {
  const what = rows === 1 ? "1 row of an earlier run costs" : `${rows} rows of earlier runs cost`;
  return new BudgetExceededError(
    ({ maxCredits }) => `What ${what} is not documented, so ${maxCredits} cannot be enforced.`,
    {
      hint: ({ noValidate }) => `Nothing was sent. To leave that out of the budget, add ${noValidate}.`,
    },
  );
}

/**
 * The most that requests are likely to cost, in credits: an undocumented cost counts as the highest documented one.
 * Used only to decide whether to ask for confirmation.
 */
export function likelyCredits(
  { credits, undocumented, extraRequests = 0 }: TotalCost,
  matrix: Matrix,
): number {
  return credits + (undocumented + extraRequests) * highestCost(matrix);
}

type LimitDeps = Pick<TaskDeps, "ledger" | "clock" | "dailyCredits">;

/**
 * Whether a request whose intent is recorded, and which is not sent yet, exceeds the daily limit. Processes that reach
 * the limit at the same time each see the others' intents: all of them may withdraw, but never do too many stay.
 * @returns the error for the user; null if it may be sent
 */
export async function overDailyLimit(record: Task, deps: LimitDeps): Promise<ImggenError | null> {
  const { dailyCredits, clock, ledger } = deps;
  const { service, credits } = record.intent;
  if (dailyCredits === null || credits === 0) return null;
  try {
    const midnight = startOfDay(clock.now());
    if ((await ledger.creditsSince(midnight, service.keyId)) <= dailyCredits) return null;
    // The sum may include requests that others have withdrawn meanwhile, so it is read again before refusing.
    const spent = await ledger.recountCreditsSince(midnight, service.keyId);
    return spent <= dailyCredits ? null : exceeded(spent - (credits ?? 0), credits ?? 0, dailyCredits);
  } catch (error) {
    // Without the day's sum the limit cannot be enforced.
    if (error instanceof ImggenError) return error;
    throw error;
  }
}

/**
 * Checks everything that is about to be submitted against the daily limit, before any intent is recorded.
 * @throws BudgetExceededError; nothing was sent
 */
export async function checkDailyLimit(
  { credits, undocumented }: { credits: number; undocumented: number },
  keyId: string,
  deps: LimitDeps,
  rules: CostRules,
): Promise<void> {
  const { dailyCredits, clock, ledger } = deps;
  if (dailyCredits === null) return;
  if (undocumented > 0 && !rules.allowUndocumented)
    throw uncountable("this costs", "dailyCredits", rules.matrix);
  if (credits === 0) return;
  const spent = await ledger.recountCreditsSince(startOfDay(clock.now()), keyId);
  if (spent + credits > dailyCredits) throw exceeded(spent, credits, dailyCredits);
}

function exceeded(spent: number, credits: number, limit: number): BudgetExceededError {
  return new BudgetExceededError(
    `${spent} credits were spent today, this costs ${credits} more, and dailyCredits is ${limit}.`,
    {
      hint: "Nothing was sent. Wait until tomorrow, or change the limit: imggen config set dailyCredits <n>",
    },
  );
}

/** Midnight in local time. */
function startOfDay(nowMs: number): number {
  return new Date(nowMs).setHours(0, 0, 0, 0);
}
