import type { BatchSpec, BatchWatcher } from "../../../core/batch/execute-batch.ts";
import { foreignFolder } from "../../../core/batch/foreign-folder.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { canAsk, confirmed } from "../../input/confirm.ts";
import type { Session } from "../../session/session.ts";

/**
 * Warns that rows may have been submitted from elsewhere, and asks whether to continue, once for each folder id.
 * @returns a function that says whether this ledger adopts the folder (false if nothing is submitted), and that throws a
 *   UsageError if the user declines
 */
export function foreignFolderQuestion(
  spec: Pick<BatchSpec, "output" | "shard"> & { yes: boolean },
  session: Session,
): BatchWatcher["agreeOnFolder"] {
  const agreed = new Set<string | null>();
  return async (found, plan) => {
    const foreign = foreignFolder(found, plan, spec);
    if (foreign === null) return false;
    if (agreed.has(found.id)) return true;
    const { message, rows } = foreign;
    if (spec.shard !== null || spec.yes) await session.console.note(`warning: ${message}`);
    else await ask(message, rows, session);
    agreed.add(found.id);
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
