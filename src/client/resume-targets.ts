import type { TaskReport } from "../core/task/report.ts";
import { distinct, type ResumeTarget } from "../core/task/resume-many.ts";
import type { LedgerReader } from "../store/ledger-reader.ts";
import { SANDBOX_SERVICE } from "../task/intent.ts";
import type { UnreadableEntry } from "./unreadable-entries.ts";

/** What is to be resumed, and the files in the ledger's folders that cannot be read as tasks. */
export interface ResumeTargets {
  targets: ResumeTarget[];
  unreadable: UnreadableEntry[];
}

/** The tasks with these ids; without any, every unfinished one, newest first; under `--sandbox`, only the sandbox's. */
export async function tasksToResume(
  ids: readonly string[],
  isSandbox: boolean,
  ledger: LedgerReader,
): Promise<ResumeTargets> {
  if (ids.length > 0) {
    const records = await ledger.findEach(ids);
    return { targets: distinct(ids.map((id) => ({ id, record: records.get(id) ?? null }))), unreadable: [] };
  }
  const entries = await ledger.unfinished();
  const records = entries.flatMap((entry) => (entry.kind === "task" ? [entry.record] : [])).reverse();
  const wanted = records.filter(({ intent }) => !isSandbox || intent.service.baseUrl === SANDBOX_SERVICE);
  const unreadable = entries.filter((entry) => entry.kind !== "task");
  return { targets: wanted.map((record) => ({ id: null, record })), unreadable };
}

/** Whether there was nothing to finish, and the user did not name the task: then it is left out of the result. */
export function isNothing({ charged }: TaskReport, target: ResumeTarget | undefined): boolean {
  return target?.id === null && charged === "no";
}

/** Whether an entry may be a charged task, so that it is not certain that all tasks are finished. */
export function mayBeTask({ kind }: UnreadableEntry): boolean {
  return kind === "damaged" || kind === "newer";
}
