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

/** Rules by which limits treat requests without a documented cost. */
export interface CostRules {
  matrix: Matrix;
  allowUndocumented: boolean;
}

/** Sum of documented costs, in credits, and number of requests whose cost is undocumented. */
interface Costs {
  credits: number;
  undocumented: number;
  /** Number of requests in rows of undocumented cost, without the first request of each row. Default: 0. */
  extraRequests?: number;
}

/** Refuses a request that costs more than the user allows, before anything is sent. @throws BudgetExceededError */
export function checkBudget(
  { request, credits }: CheckedRequest,
  maxCredits: number,
  rules: CostRules,
): void {
  if (credits === null) {
    if (rules.allowUndocumented) return;
    throw undocumentedCostError(`cost of ${request.model}`, "maxCredits", rules.matrix);
  }
  if (credits <= maxCredits) return;
  throw new BudgetExceededError(
    phrase`This request costs ${credits} credits, and ${option("maxCredits")} is ${maxCredits}.`,
    {
      hint: [
        "Nothing was sent. Raise the cap, or choose a cheaper model or quality.",
        phrase`To see their costs: ${action("models")}`,
      ],
    },
  );
}

/**
 * Checks the cost of a batch together with possible charges of earlier runs, even for rows that were removed since.
 * @throws BudgetExceededError
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
  const chargedBefore = charged.credits + chargedForOthers.credits;
  if (undocumented > 0 && !rules.allowUndocumented) {
    if (toSubmit.undocumented === 0) throw undocumentedChargeError(undocumented);
    const rowsCost = undocumented === 1 ? "cost of 1 row" : `cost of ${undocumented} rows`;
    throw undocumentedCostError(rowsCost, "maxCredits", rules.matrix);
  }
  if (chargedBefore + toSubmit.credits <= maxCredits) return;
  const verb = chargedBefore > 0 ? "still costs" : "costs";
  const earlierClause = chargedBefore > 0 ? `, earlier runs may have been charged ${chargedBefore}` : "";
  throw new BudgetExceededError(
    phrase`The batch ${verb} ${toSubmit.credits} credits${earlierClause}, and ${option("maxCredits")} is ${maxCredits}.`,
    { hint: chargedBefore > maxCredits ? OVERSPENT : "Nothing was sent. Raise the cap, or remove rows." },
  );
}

const OVERSPENT =
  "Nothing was sent. Raise the cap: charges of earlier runs count, even for rows removed since.";

/** @param costs subject of the message, as in `cost of 1 row` */
function undocumentedCostError(
  costs: string,
  limit: "maxCredits" | "dailyCredits",
  matrix: Matrix,
): BudgetExceededError {
  const name = limit === "maxCredits" ? option(limit) : limit;
  const advice = phrase`To submit it without a limit, add ${option("noValidate")}.`;
  return new BudgetExceededError(phrase`The ${costs} is not documented, so ${name} cannot be enforced.`, {
    hint: ["Nothing was sent.", unknownCostHint(matrix, advice)],
  });
}

function undocumentedChargeError(rows: number): BudgetExceededError {
  const rowsCost = rows === 1 ? "cost of 1 row of an earlier run" : `cost of ${rows} rows of earlier runs`;
  return new BudgetExceededError(
    phrase`The ${rowsCost} is not documented, so ${option("maxCredits")} cannot be enforced.`,
    {
      hint: phrase`Nothing was sent. To exclude that cost from the budget, add ${option("noValidate")}.`,
    },
  );
}

/** Estimated maximum cost, in credits. An undocumented cost counts as the highest documented cost. */
export function likelyCredits({ credits, undocumented, extraRequests = 0 }: Costs, matrix: Matrix): number {
  return credits + (undocumented + extraRequests) * highestCost(matrix);
}

/** Account to which a daily limit applies. All generators share one account. */
export function spendingAccount({ keyId }: ServiceIdentity, isGenerator: boolean): string {
  return isGenerator ? GENERATOR_KEY_ID : keyId;
}

interface LimitDeps {
  ledger: Pick<Ledger, "spending">;
  clock: Pick<Clock, "now">;
  dailyCredits: number | null;
}

/** Daily limit of an account, over all processes. If no limit is set, spending is only counted. */
export function dayCap({ ledger, clock, dailyCredits }: LimitDeps): Cap {
  const getToday = () => localDay(new Date(clock.now()));
  const getCharge = ({ task, request, credits }: PricedRequest) => {
    const keyId = spendingAccount(task.intent.service, isAtGenerator(task.intent));
    return { task: task.id, request, part: task.parts, keyId, credits: credits ?? 0 };
  };
  /** Day on which each request was counted, because a run might continue after midnight. */
  const countedDays = new Map<string, string>();
  const getRequestKey = ({ task, request }: PricedRequest) => `${task.id} ${request}`;
  return {
    async take(priced) {
      const day = getToday();
      try {
        const result = await ledger.spending.announce(day, getCharge(priced), dailyCredits);
        if (!result.ok) return overLimitError(result.spent, priced.credits ?? 0, dailyCredits ?? 0);
        countedDays.set(getRequestKey(priced), day);
        return null;
      } catch (error) {
        // If the day's sum cannot be read, a limit cannot be enforced, so the request is refused.
        if (error instanceof ImggenError) return dailyCredits === null ? null : error;
        throw error;
      }
    },
    async giveBack(priced) {
      const day = countedDays.get(getRequestKey(priced));
      if (day === undefined) return;
      // An error is ignored, because it makes the sum too high, never too low.
      await ledger.spending.withdraw(day, getCharge(priced)).catch(() => {});
    },
  };
}

/** Checks the daily limit. `waiting`: cost of requests that are not submitted yet. @throws BudgetExceededError */
export async function checkDailyLimit(
  { credits, undocumented, waiting = 0 }: { credits: number; undocumented: number; waiting?: number },
  keyId: string,
  deps: LimitDeps,
  rules: CostRules,
): Promise<void> {
  const { dailyCredits, clock, ledger } = deps;
  if (dailyCredits === null) return;
  if (undocumented > 0 && !rules.allowUndocumented)
    throw undocumentedCostError("cost of this request", "dailyCredits", rules.matrix);
  if (credits === 0) return;
  const spent = (await ledger.spending.total(localDay(new Date(clock.now())), keyId)) + waiting;
  if (spent + credits > dailyCredits) throw overLimitError(spent, credits, dailyCredits);
}

function overLimitError(spent: number, credits: number, limit: number): BudgetExceededError {
  return new BudgetExceededError(
    `${spent} credits were spent today, the submit costs ${credits} more, and dailyCredits is ${limit}.`,
    {
      hint: phrase`Nothing was sent. Wait until tomorrow, or change the limit: ${action("run", "config set dailyCredits <n>")}`,
    },
  );
}
