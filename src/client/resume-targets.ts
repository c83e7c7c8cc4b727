import type { TaskReport } from "../core/task/report.ts";
import { distinct, type ResumeTarget } from "../core/task/resume-many.ts";
import type { LedgerReader } from "../store/ledger-reader.ts";
import { SANDBOX_SERVICE } from "./connections.ts";
import type { UnreadableEntry } from "./unreadable-entries.ts";

/** What is to be resumed, and the files in the ledger's folders of which nobody can say what they are. */
export interface ResumeTargets {
  targets: ResumeTarget[];
  oddities: UnreadableEntry[];
}

/** The tasks with these ids; without any, every unfinished one, newest first: in the sandbox, its own alone. */
export async function tasksToResume(
  ids: readonly string[],
  isSandbox: boolean,
  ledger: LedgerReader,
): Promise<ResumeTargets> {
  if (ids.length > 0) {
    const records = await ledger.findEach(ids);
    return { targets: distinct(ids.map((id) => ({ id, record: records.get(id) ?? null }))), oddities: [] };
  }
  const entries = await ledger.unfinished();
  const records = entries.flatMap((entry) => (entry.kind === "task" ? [entry.record] : [])).reverse();
  const wanted = records.filter(({ intent }) => !isSandbox || intent.service.baseUrl === SANDBOX_SERVICE);
  const oddities = entries.filter((entry) => entry.kind !== "task");
  return { targets: wanted.map((record) => ({ id: null, record })), oddities };
}

/** What never became a task is put away without a word where nobody has named it: there is nothing to finish. */
export function isNothing({ charged }: TaskReport, target: ResumeTarget | undefined): boolean {
  return target?.id === null && charged === "no";
}

/** Whether an entry may be a charged task, so that nobody can say that nothing is left. */
export function mayBeTask({ kind }: UnreadableEntry): boolean {
  return kind === "damaged" || kind === "newer";
}
