import { UsageError } from "../../lib/error-types.ts";
import { option, phrase } from "../../lib/wording.ts";
import { BudgetExceededError } from "../errors.ts";
import { likelyCredits } from "../limits/budget.ts";
import type { BatchEvents, BatchSpec } from "./batch-spec.ts";
import type { FolderBatch } from "./identify-batch.ts";
import type { BatchPlan } from "./plan.ts";

/** @throws BudgetExceededError if a cost above the limit is not confirmed; nothing was sent */
export async function agreeOnCosts(
  { toSubmit }: BatchPlan,
  { matrix, confirmAbove, yes, cap }: BatchSpec,
  { confirm }: BatchEvents,
): Promise<void> {
  const credits = likelyCredits(toSubmit, matrix);
  if (yes || credits <= confirmAbove) return;
  const isEstimate = toSubmit.undocumented > 0;
  if (confirm !== undefined) {
    if (await confirm({ about: "costs", credits, isEstimate })) return;
    throw new BudgetExceededError("The cost was not confirmed.", { hint: "Nothing was sent." });
  }
  if (cap !== null) return;
  const verb = isEstimate ? "may cost" : "costs";
  throw new BudgetExceededError(
    `The batch ${verb} ${credits} credits, more than ${confirmAbove} (confirmAbove), and cannot be confirmed without a terminal.`,
    {
      hint: phrase`Nothing was sent. Allow it with ${option("yes")}, or set its budget with ${option("maxCredits")}.`,
    },
  );
}

/** Returns a function that asks the user, once per folder id, to confirm a folder with rows of other ledgers. */
export function folderAgreement(
  plan: BatchPlan,
  spec: BatchSpec,
  { confirm, onWarning = async () => {} }: BatchEvents,
): (foundBatch: FolderBatch) => Promise<boolean> {
  const agreedIds = new Set<string | null>();
  return async (foundBatch) => {
    const otherRows = findRowsOfOtherLedgers(foundBatch, plan, spec);
    if (otherRows === null) return false;
    if (agreedIds.has(foundBatch.id)) return true;
    if (spec.shard !== null || spec.yes) await onWarning(otherRows.message);
    else if (confirm === undefined) throw new UsageError(otherRows.message, { hint: OTHER_LEDGERS_HINT });
    else if (!(await confirm({ about: "folder", ...otherRows })))
      throw new UsageError("Submitting the rows was not confirmed.", { hint: "Nothing was sent." });
    agreedIds.add(foundBatch.id);
    return true;
  };
}

const OTHER_LEDGERS_HINT = phrase`Nothing was sent. Submit the rows anyway with ${option("yes")}, or set ${option("home")} to the folder of the ledger that contains them.`;

/** Number of rows that other ledgers might have submitted, or null. Shards share a known folder on purpose. */
function findRowsOfOtherLedgers(
  { isForeign, isKnown }: FolderBatch,
  plan: BatchPlan,
  { output, shard }: BatchSpec,
): { message: string; rows: number } | null {
  const rows = plan.rows.filter(({ state }) => state === "new").length;
  if (!isForeign || rows === 0 || (shard !== null && isKnown)) return null;
  const rowsAre = rows === 1 ? "1 row of this batch is" : `${rows} rows of this batch are`;
  const mayContain = isKnown ? "may also contain" : "also contains";
  const message = `${output.folder} ${mayContain} rows submitted from another machine or IMGGEN_HOME. Possibly ${rowsAre} among them.`;
  return { message, rows };
}
