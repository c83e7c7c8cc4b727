import { ImggenError } from "../../lib/error-types.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { BudgetExceededError } from "../errors.ts";
import { type CostRules, uncountable } from "./budget.ts";

type LimitDeps = Pick<TaskDeps, "ledger" | "clock" | "dailyCredits">;

/**
 * Whether a request whose intent is recorded, and which is not sent yet, exceeds the daily limit. Processes that reach
 * the limit at the same time each see the others' intents: all of them may withdraw, but never do too many stay.
 * @returns the error for the user; null if it may be sent
 */
export async function overDailyLimit(record: TaskRecord, deps: LimitDeps): Promise<ImggenError | null> {
  const { dailyCredits, ledger, clock } = deps;
  const { service, credits } = record.intent;
  if (dailyCredits === null || credits === 0) return null;
  try {
    // Recorded before the others are read, so that of two processes at the limit each sees the other.
    await ledger.announce(record);
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
  const { dailyCredits, ledger, clock } = deps;
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
