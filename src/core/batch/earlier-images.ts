import { mapConcurrent } from "../../lib/concurrency.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { TaskDeps } from "../deps.ts";
import { reportOf } from "../task/report.ts";

const TASKS_AT_ONCE = 16;

/**
 * Collects the names of all images that earlier runs of a batch saved, including those of rows since removed from the
 * manifest: --overwrite must not replace them, because the same batch was charged for them.
 */
export async function noteEarlierImages(
  claims: Pick<BatchClaims, "load">,
  { ledger, published }: Pick<TaskDeps, "ledger" | "published">,
): Promise<void> {
  const ids = [...(await claims.load()).values()].flat();
  await mapConcurrent(ids, TASKS_AT_ONCE, async (id) => {
    const entry = await ledger.read(id);
    const files = entry?.kind === "task" ? reportOf(entry.record).files : [];
    for (const { path } of files) if (path !== null) await published.addEarlier(path);
  });
}
