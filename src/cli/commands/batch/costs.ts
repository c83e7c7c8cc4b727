import { isRepeat } from "../../../core/batch/batch-row.ts";
import type { Doubt } from "../../../core/batch/batch-spec.ts";
import type { BatchPlan, TotalCost } from "../../../core/batch/plan.ts";
import { likelyCredits } from "../../../core/limits/budget.ts";
import { highestCost } from "../../../models/cost.ts";
import type { Matrix } from "../../../models/matrix.ts";
import { creditsText } from "../../text/phrases.ts";

/** `1160 credits`, with the undocumented costs. */
export function costText({ rows, credits, undocumented }: TotalCost): string {
  if (undocumented === 0) return creditsText(credits);
  if (undocumented === rows) return "cost unknown";
  return `${creditsText(credits)}, and ${undocumented === 1 ? "1 row" : `${undocumented} rows`} of unknown cost`;
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
  if (count("unfinished") > 0) parts.push(`${count("unfinished")} unfinished`);
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

/** What a person is asked to agree to, at the end of a line. */
export function questionOf(doubt: Doubt): string {
  if (doubt.about === "costs")
    return `Spend ${doubt.isEstimate ? "an estimated " : ""}${doubt.credits} credits?`;
  return `Submit ${doubt.rows === 1 ? "it" : `all ${doubt.rows}`}?`;
}
