import type { Clock } from "../../lib/clock.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { localDay } from "../../lib/local-time.ts";
import { action, option, phrase } from "../../lib/wording.ts";
import { highestCost, unknownCostHint } from "../../models/cost.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { Ledger } from "../../store/ledger.ts";
import { GENERATOR_KEY_ID, isAtGenerator, type ServiceIdentity } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import { BudgetExceededError } from "../errors.ts";
import type { Cap, PricedRequest } from "./caps.ts";

/** Rule for requests without a documented cost under a limit. */
export interface CostRules {
  /** The models to choose from. */
  matrix: Matrix;
  /** Whether such a request passes, although it cannot be counted. */
  allowUndocumented: boolean;
}

/** A sum of documented costs, in credits, and the number of costs that are not documented. */
interface Costs {
  credits: number;
  undocumented: number;
  /** Requests beyond one for each, each at that cost; absent for none. */
  extraRequests?: number;
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
    phrase`This request costs ${credits} credits, and ${option("maxCredits")} is ${maxCredits}.`,
    {
      hint: [
        "Nothing was sent. Raise the cap, or choose a cheaper model or quality.",
        phrase`To see what each costs: ${action("models")}`,
      ],
    },
  );
}

/**
 * Checks a batch against its total budget: what earlier runs may have been charged, including for rows since removed
 * from the manifest, plus what is still to be submitted. @throws BudgetExceededError with both figures; nothing was sent
 */
export function checkBatchBudget(
  {
    toSubmit,
    charged,
    chargedForOthers,
  }: Readonly<Record<"toSubmit" | "charged" | "chargedForOthers", Costs>>,
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
    phrase`The batch ${costs} ${toSubmit.credits} credits${earlier}, and ${option("maxCredits")} is ${maxCredits}.`,
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
  const name = limit === "maxCredits" ? option(limit) : limit;
  const otherwise = phrase`To submit it without a limit, add ${option("noValidate")}.`;
  return new BudgetExceededError(phrase`What ${what} is not documented, so ${name} cannot be enforced.`, {
    hint: ["Nothing was sent.", unknownCostHint(matrix, otherwise)],
  });
}

/** No choice of a model makes countable what an earlier run has submitted. */
function uncountableBefore(rows: number): BudgetExceededError {
  const what = rows === 1 ? "1 row of an earlier run costs" : `${rows} rows of earlier runs cost`;
  return new BudgetExceededError(
    phrase`What ${what} is not documented, so ${option("maxCredits")} cannot be enforced.`,
    {
      hint: phrase`Nothing was sent. To leave that out of the budget, add ${option("noValidate")}.`,
    },
  );
}

/**
 * The most that requests are likely to cost, in credits: an undocumented cost counts as the highest documented one.
 * Used only to decide whether to ask for confirmation.
 */
export function likelyCredits({ credits, undocumented, extraRequests = 0 }: Costs, matrix: Matrix): number {
  return credits + (undocumented + extraRequests) * highestCost(matrix);
}

/** The account that a daily limit is of: one for all of the user's own generators. */
export function spendingAccount({ keyId }: ServiceIdentity, isGenerator: boolean): string {
  return isGenerator ? GENERATOR_KEY_ID : keyId;
}

interface LimitDeps {
  ledger: Pick<Ledger, "spending">;
  clock: Pick<Clock, "now">;
  /** Daily limit of the account, in credits; null for none. */
  dailyCredits: number | null;
}

/** The limit on what an account may spend in a day, in credits, over all processes; null: spending is counted alone. */
export function dayCap({ ledger, clock, dailyCredits }: LimitDeps): Cap {
  const today = () => localDay(new Date(clock.now()));
  const getCharge = ({ task, request, credits }: PricedRequest) => {
    const keyId = spendingAccount(task.intent.service, isAtGenerator(task.intent));
    return { task: task.id, request, part: task.parts, keyId, credits: credits ?? 0 };
  };
  /** The days on which requests were counted: a run may last past midnight. */
  const days = new Map<string, string>();
  const requestKey = ({ task, request }: PricedRequest) => `${task.id} ${request}`;
  return {
    async take(priced) {
      const day = today();
      try {
        const announced = await ledger.spending.announce(day, getCharge(priced), dailyCredits);
        if (!announced.ok) return exceeded(announced.spent, priced.credits ?? 0, dailyCredits ?? 0);
        days.set(requestKey(priced), day);
        return null;
      } catch (error) {
        // Without the day's sum the limit cannot be enforced.
        if (error instanceof ImggenError) return dailyCredits === null ? null : error;
        throw error;
      }
    },
    async giveBack(priced) {
      const day = days.get(requestKey(priced));
      if (day === undefined) return;
      // The remaining ones make the sum too high.
      await ledger.spending.withdraw(day, getCharge(priced)).catch(() => {});
    },
  };
}

/**
 * Checks everything that is about to be submitted against the daily limit, before any intent is recorded. `waiting`: cost of
 * what was begun before and is still to be submitted.
 * @throws BudgetExceededError; nothing was sent
 */
export async function checkDailyLimit(
  { credits, undocumented, waiting = 0 }: { credits: number; undocumented: number; waiting?: number },
  keyId: string,
  deps: LimitDeps,
  rules: CostRules,
): Promise<void> {
  const { dailyCredits, clock, ledger } = deps;
  if (dailyCredits === null) return;
  if (undocumented > 0 && !rules.allowUndocumented)
    throw uncountable("this costs", "dailyCredits", rules.matrix);
  if (credits === 0) return;
  const spent = (await ledger.spending.total(localDay(new Date(clock.now())), keyId)) + waiting;
  if (spent + credits > dailyCredits) throw exceeded(spent, credits, dailyCredits);
}

function exceeded(spent: number, credits: number, limit: number): BudgetExceededError {
  return new BudgetExceededError(
    `${spent} credits were spent today, this costs ${credits} more, and dailyCredits is ${limit}.`,
    {
      hint: phrase`Nothing was sent. Wait until tomorrow, or change the limit: ${action("run", "config set dailyCredits <n>")}`,
    },
  );
}
