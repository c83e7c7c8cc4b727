import { isRepeat } from "../../../core/batch/batch-row.ts";
import type { BatchPlan, TotalCost } from "../../../core/batch/plan.ts";
import { BudgetExceededError } from "../../../core/errors.ts";
import { likelyCredits } from "../../../core/limits/budget.ts";
import { highestCost } from "../../../models/cost.ts";
import type { Matrix } from "../../../models/matrix.ts";
import type { Allowance } from "../../flags/batch-flags.ts";
import { canAsk, confirmed } from "../../input/confirm.ts";
import type { Session } from "../../session/session.ts";
import { creditsText } from "../../text/phrases.ts";

/** `1160 credits`, with the undocumented costs. */
export function costText({ rows, credits, undocumented }: TotalCost): string {
  if (undocumented === 0) return creditsText(credits);
  if (undocumented === rows) return "cost unknown";
  return `${creditsText(credits)}, and ${undocumented === 1 ? "1 row" : `${undocumented} rows`} of unknown cost`;
}

/**
 * Says what a batch will cost, and above the limit asks the person at the terminal.
 * @throws BudgetExceededError if it must not be submitted; nothing was sent
 */
export async function agreeOnCosts(
  plan: BatchPlan,
  allowed: Pick<Allowance, "cap" | "yes">,
  session: Session,
): Promise<void> {
  const matrix = await session.matrix();
  const confirmAbove = await session.settings.confirmAbove();
  const credits = likelyCredits(plan.toSubmit, matrix);
  const estimate = estimateText(plan.toSubmit, matrix);
  await session.console.note(`${planText(plan)}.${estimate && ` ${estimate}`}`);
  if (allowed.yes || credits <= confirmAbove) return;
  const isEstimate = plan.toSubmit.undocumented > 0;
  if (canAsk(session)) return ask(`Spend ${isEstimate ? "an estimated " : ""}${credits} credits?`, session);
  if (allowed.cap !== null) return;
  const costs = isEstimate ? "may cost" : "costs";
  throw new BudgetExceededError(
    `The batch ${costs} ${credits} credits, more than ${confirmAbove} (confirmAbove), and there is no terminal to confirm on.`,
    { hint: "Nothing was sent. Allow it with --yes, or set its budget with --max-credits <n>." },
  );
}

async function ask(question: string, session: Session): Promise<void> {
  if (await confirmed(question, session)) return;
  throw new BudgetExceededError("The cost was not confirmed.", { hint: "Nothing was sent." });
}

/** `12 rows`, with how many of them are the equals of earlier ones. */
function rowsText(rows: number, repeats: number): string {
  const text = `${rows} ${rows === 1 ? "row" : "rows"}`;
  return repeats === 0 ? text : `${text} (${repeats} ${repeats === 1 ? "repeats" : "repeat"} an earlier row)`;
}

/** `3 rows, 2 saved already, up to 4 credits already charged, 1 to submit: 2 credits`. */
export function planText({ rows, toSubmit, charged }: BatchPlan): string {
  const count = (state: string) => rows.filter((row) => row.state === state).length;
  const parts = [rowsText(rows.length, rows.filter(({ key }) => isRepeat(key)).length)];
  if (count("saved") > 0) parts.push(`${count("saved")} saved already`);
  if (count("unfinished") > 0) parts.push(`${count("unfinished")} charged and unfinished`);
  if (charged.credits > 0) parts.push(`up to ${creditsText(charged.credits)} already charged`);
  parts.push(toSubmit.rows === 0 ? "nothing to submit" : `${toSubmit.rows} to submit: ${costText(toSubmit)}`);
  return parts.join(", ");
}

/** How `confirmAbove` counts undocumented costs; empty if there are none. */
export function estimateText(toSubmit: TotalCost, matrix: Matrix): string {
  if (toSubmit.undocumented === 0) return "";
  const most = highestCost(matrix);
  return `A row of unknown cost counts as ${most} credits for confirmAbove, so ${likelyCredits(toSubmit, matrix)} in all.`;
}
