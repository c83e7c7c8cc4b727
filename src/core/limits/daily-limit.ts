import { ImggenError } from "../../lib/errors.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { BudgetExceededError } from "../errors.ts";

type LimitDeps = Pick<TaskDeps, "ledger" | "clock" | "dailyCredits">;

/**
 * Whether a purchase that is already in the ledger, and not yet sent, is one too many for the day. Several
 * processes that come to the limit at once each see the others' claims, so that all may withdraw, and never
 * too many stay.
 * @returns what to tell the user; null where it may be sent
 */
export async function overDailyLimit(record: TaskRecord, deps: LimitDeps): Promise<ImggenError | null> {
  const { dailyCredits, ledger, clock } = deps;
  const { service, credits } = record.intent;
  if (dailyCredits === null || credits === 0) return null;
  try {
    // Before the others are read: of two that come to the limit at once, each then sees the other.
    await ledger.announce(record);
    const midnight = startOfDay(clock.now());
    if ((await ledger.creditsSince(midnight, service.keyId)) <= dailyCredits) return null;
    // What others have withdrawn meanwhile may have been counted: before it is refused, that is put right.
    const spent = await ledger.recountCreditsSince(midnight, service.keyId);
    return spent <= dailyCredits ? null : exceeded(spent - (credits ?? 0), credits ?? 0, dailyCredits);
  } catch (error) {
    // Where the day cannot be summed, the limit cannot be kept.
    if (error instanceof ImggenError) return error;
    throw error;
  }
}

/**
 * Holds what is about to be bought, all of it, to the daily limit before any of it is written down.
 * @param allowUndocumented whether requests may pass whose cost is not documented, and cannot be counted
 * @throws BudgetExceededError; nothing was sent
 */
export async function checkDailyLimit(
  { credits, undocumented }: { credits: number; undocumented: number },
  keyId: string,
  deps: LimitDeps,
  allowUndocumented: boolean,
): Promise<void> {
  const { dailyCredits, ledger, clock } = deps;
  if (dailyCredits === null) return;
  if (undocumented > 0 && !allowUndocumented) throw uncountable();
  if (credits === 0) return;
  const spent = await ledger.recountCreditsSince(startOfDay(clock.now()), keyId);
  if (spent + credits > dailyCredits) throw exceeded(spent, credits, dailyCredits);
}

function uncountable(): BudgetExceededError {
  return new BudgetExceededError("What this costs is not documented, so dailyCredits cannot be enforced.", {
    hint: "Nothing was sent. Choose a model with a documented cost (imggen models), or add --no-validate.",
  });
}

function exceeded(spent: number, credits: number, limit: number): BudgetExceededError {
  return new BudgetExceededError(
    `${spent} credits were spent today, this costs ${credits} more, and dailyCredits is ${limit}.`,
    { hint: "Nothing was sent. Wait for tomorrow, or change the limit: imggen config set dailyCredits <n>" },
  );
}

/** The user's own midnight. */
function startOfDay(nowMs: number): number {
  return new Date(nowMs).setHours(0, 0, 0, 0);
}
