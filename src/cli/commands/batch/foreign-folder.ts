import type { BatchOrder, BatchWatcher } from "../../../core/batch/execute.ts";
import { UsageError } from "../../../lib/errors.ts";
import type { Session } from "../../app/session.ts";
import { canAsk, confirmed } from "../../input/confirm.ts";

/**
 * Says that rows may have been submitted from elsewhere, and asks whether to go on. Asked once for each id.
 * @returns a question that answers whether the folder is this ledger's from now on: not where nothing is submitted;
 *   throws a UsageError where the answer is no
 */
export function foreignFolderQuestion(
  { place: { folder }, yes, shard }: Pick<BatchOrder, "place" | "shard"> & { yes: boolean },
  session: Session,
): BatchWatcher["agreeOnFolder"] {
  const agreed = new Set<string | null>();
  // Where several ledgers share the folder on purpose, it is only said, and of a known folder not even that.
  const isShard = shard !== null;
  return async ({ id, isForeign, isKnown }, { rows }) => {
    const unknown = rows.filter(({ state }) => state === "new").length;
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
