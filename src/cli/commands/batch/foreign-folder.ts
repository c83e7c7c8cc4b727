import type { FoundBatch } from "../../../core/batch/batch-folder.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import { UsageError } from "../../../lib/errors.ts";
import type { Session } from "../../app/session.ts";
import { canAsk, confirmed } from "../../input/confirm.ts";

/** What decides whether a folder may be used that other ledgers know more of. */
export interface ForeignFolder {
  folder: string;
  /** `--yes`. */
  yes: boolean;
  /** Whether several ledgers share the folder on purpose: then it is only said, and of a known folder not even that. */
  isShard: boolean;
}

/**
 * Says that rows may have been submitted from elsewhere, and asks whether to go on. Asked once for each id.
 * @returns a question that answers whether the folder is this ledger's from now on: not where nothing is submitted;
 *   throws a UsageError where the answer is no
 */
export function foreignFolderQuestion(
  { folder, yes, isShard }: ForeignFolder,
  { rows }: BatchPlan,
  session: Session,
): (found: FoundBatch) => Promise<boolean> {
  const agreed = new Set<string | null>();
  const unknown = rows.filter(({ state }) => state === "new").length;
  return async ({ id, isForeign, isKnown }) => {
    if (!isForeign || unknown === 0 || (isShard && isKnown)) return false;
    if (agreed.has(id)) return true;
    const what = unknown === 1 ? "1 row was" : `${unknown} rows were`;
    const filled = isKnown ? "is filled in shards, perhaps" : "was filled";
    const message = `${folder} ${filled} from another machine or another IMGGEN_HOME too. Whether ${what} submitted there is not known here.`;
    if (isShard || yes) await session.console.note(`warning: ${message}`);
    else await ask(message, unknown, session);
    agreed.add(id);
    return true;
  };
}

async function ask(message: string, unknown: number, session: Session): Promise<void> {
  if (!canAsk(session))
    throw new UsageError(message, {
      hint: "Nothing was sent. Submit them anyway with --yes, or use the IMGGEN_HOME that submitted them.",
    });
  await session.console.note(message);
  const them = unknown === 1 ? "it" : `all ${unknown}`;
  if (await confirmed(`Submit ${them}?`, session)) return;
  throw new UsageError("Submitting them was not confirmed.", { hint: "Nothing was sent." });
}
