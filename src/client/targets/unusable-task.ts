import { reportOf, type TaskReport } from "../../core/engine/report.ts";
import { MissingProviderError } from "../../core/errors.ts";
import { UsageError } from "../../lib/error-types.ts";
import { parseGeneratorSpec } from "../../providers/spec.ts";
import type { Task } from "../../task/task.ts";
import { type ClientSession, openLedger } from "../client-session.ts";
import { requireKnown } from "./generator-setup.ts";

/**
 * The report on an unfinished task for a prompt whose package cannot be used: a new request cannot even be checked then, and
 * would hide what the task may have cost.
 * @param error of the new request; thrown if no task waits for the package
 */
export async function unusableTask(
  error: unknown,
  prompt: string,
  session: ClientSession,
): Promise<TaskReport> {
  const setting = session.settings.generator();
  if (!(error instanceof UsageError) || setting === undefined) throw error;
  const { name, kind } = parseGeneratorSpec(setting.value, setting.label);
  if (kind !== "npm") throw error;
  const ledger = openLedger(session);
  const isSame = ({ intent }: Task) => intent.service.baseUrl === name && intent.request.prompt === prompt;
  const entries = (await ledger.unfinished()).reverse();
  const tasks = entries.flatMap((entry) => (entry.kind === "task" ? [entry.task] : []));
  const task = tasks.find((each) => isSame(each) && !ledger.isHeld(each));
  if (task === undefined) throw error;
  const report = reportOf(await ledger.asItStands(task));
  try {
    requireKnown(name, report.taskId ?? task.id, session);
  } catch (missing) {
    if (missing instanceof MissingProviderError) return { ...report, error: missing, reused: true };
  }
  throw error;
}
