import type { FoundBatch } from "./batch-folder.ts";
import type { BatchSpec } from "./execute-batch.ts";
import type { BatchPlan } from "./plan.ts";

/** What has to be agreed to before rows are submitted into a folder that other ledgers know more of. */
export interface ForeignFolder {
  message: string;
  /** How many rows may have been submitted from elsewhere. */
  rows: number;
}

/**
 * Whether rows may have been submitted into a folder by other ledgers; null if they were not, or where nothing is
 * submitted now. Where several ledgers share it on purpose, only one that this ledger does not know is reported.
 */
export function foreignFolder(
  { isForeign, isKnown }: FoundBatch,
  plan: BatchPlan,
  { output, shard }: Pick<BatchSpec, "output" | "shard">,
): ForeignFolder | null {
  const rows = plan.rows.filter(({ state }) => state === "new").length;
  if (!isForeign || rows === 0 || (shard !== null && isKnown)) return null;
  const what = rows === 1 ? "1 row of this batch is" : `${rows} rows of this batch are`;
  const also = isKnown ? "may also contain" : "also contains";
  const message = `${output.folder} ${also} rows submitted from another machine or IMGGEN_HOME. This ledger cannot know whether ${what} among them.`;
  return { message, rows };
}
