import { checkBatchBudget, needsConfirmation } from "../../core/batch/batch-budget.ts";
import type { BatchPlan, Cost } from "../../core/batch/plan.ts";
import { BudgetExceededError } from "../../core/errors.ts";
import { canAsk, confirmed } from "../confirm.ts";
import type { Session } from "../session.ts";
import { creditsText } from "../text.ts";

/** What a person allows a batch to cost. */
export interface Allowance {
  /** `--max-credits`; null for no cap. */
  cap: number | null;
  yes: boolean;
  /** Whether requests without a documented cost may pass under a cap. */
  allowUndocumented: boolean;
}

/** `1160 credits`, with what nobody can say. */
export function costText({ rows, credits, undocumented }: Cost): string {
  if (undocumented === 0) return creditsText(credits);
  if (undocumented === rows) return "cost not documented";
  return `${creditsText(credits)}, and ${undocumented} rows whose cost is not documented`;
}

/**
 * Says what a batch will cost, holds it to its budget, and above the limit asks the person at the terminal.
 * @throws BudgetExceededError where it may not be bought; nothing was sent
 */
export async function agreeOnCosts(plan: BatchPlan, allowed: Allowance, session: Session): Promise<void> {
  if (allowed.cap !== null) checkBatchBudget(plan, allowed.cap, allowed.allowUndocumented);
  await session.console.note(planText(plan));
  const confirmAbove = await session.settings.confirmAbove();
  if (allowed.yes || !needsConfirmation(plan.toBuy, confirmAbove)) return;
  if (canAsk(session)) return ask(plan.toBuy, session);
  if (allowed.cap !== null) return;
  throw new BudgetExceededError(
    `The batch costs ${plan.toBuy.credits} credits, more than ${confirmAbove} (confirmAbove), and nobody can be asked.`,
    { hint: "Nothing was sent. Allow it with --yes, or set its budget with --max-credits <n>." },
  );
}

async function ask({ credits }: Cost, session: Session): Promise<void> {
  if (await confirmed(`Spend ${credits} credits?`, session)) return;
  throw new BudgetExceededError("You did not agree to the cost.", { hint: "Nothing was sent." });
}

function planText({ rows, toBuy, charged }: BatchPlan): string {
  const count = (standing: string) => rows.filter((row) => row.standing === standing).length;
  const parts = [`${rows.length} ${rows.length === 1 ? "row" : "rows"}`];
  if (count("saved") > 0) parts.push(`${count("saved")} saved already`);
  if (count("unfinished") > 0) parts.push(`${count("unfinished")} paid for and unfinished`);
  if (charged.credits > 0) parts.push(`${creditsText(charged.credits)} charged or perhaps charged before`);
  parts.push(toBuy.rows === 0 ? "nothing to buy" : `${toBuy.rows} to buy: ${costText(toBuy)}`);
  return `${parts.join(", ")}.`;
}
