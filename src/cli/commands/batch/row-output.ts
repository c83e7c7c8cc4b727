import { rowJson } from "../../../client/batch-json.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import type { Session } from "../../session/session.ts";

/**
 * A row's result on standard output: its object, or the paths of its images. A script gets those of earlier runs too; a
 * person at a terminal has seen them.
 */
export async function showRow(end: RowResult, session: Session): Promise<void> {
  if (session.options.json) return session.json(rowJson(end, FLAG_NAMES));
  if (end.error || (end.isSkipped && session.context.stdout.isTTY)) return;
  for (const { path } of end.report?.files ?? [])
    if (path !== null) await session.console.resultLine({ path });
}
