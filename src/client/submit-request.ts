import type { TaskDeps } from "../core/deps.ts";
import { checkDailyLimit } from "../core/limits/daily-limit.ts";
import { dismissTask } from "../core/task/dismiss.ts";
import { type GenerateOrder, generate } from "../core/task/generate.ts";
import { findUnfinishedDuplicate } from "../core/task/history.ts";
import type { TaskReport } from "../core/task/report.ts";
import { ImggenError } from "../lib/errors.ts";
import { isUnknown, type TaskRecord } from "../task/record.ts";
import { resumeCommand } from "./failure.ts";

export interface SubmitOrder extends GenerateOrder {
  /** The task that the user asked to submit again: it is not warned about. */
  repeated: TaskRecord | null;
  /** Whether a request without a documented cost may be submitted under a limit. */
  allowUndocumented: boolean;
}

/**
 * Warns about an unfinished task for the same request, checks the daily limit, and generates.
 * @throws BudgetExceededError if the day's limit would be passed, or what `generate` throws; nothing was sent
 */
export async function submitRequest(
  order: SubmitOrder,
  deps: TaskDeps,
  onWarning: (message: string) => Promise<void>,
): Promise<TaskReport> {
  const { repeated, checked, allowUndocumented } = order;
  const { ledger, connection } = deps;
  const warnings = [...checked.warnings];
  const twin = await findUnfinishedDuplicate(ledger, checked.request, connection.identity);
  if (twin && twin.id !== repeated?.id) {
    warnings.push(twinWarning(twin));
    await onWarning(twinWarning(twin));
  }
  const { credits } = checked;
  const cost = { credits: credits ?? 0, undocumented: credits === null ? 1 : 0 };
  await checkDailyLimit(cost, connection.identity.keyId, deps, allowUndocumented);
  const report = await generate({ ...order, checked: { ...checked, warnings } }, deps);
  return repeated && isUnknown(repeated) ? settled(repeated, report, deps) : report;
}

/** The user submitted a request of unknown outcome again, so the earlier one is dismissed. */
async function settled(repeated: TaskRecord, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  if (report.charged === "no") return report;
  try {
    await dismissTask(repeated, { why: "submitted again", replacement: report.ledgerId }, deps);
    return report;
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { ...report, warnings: [...report.warnings, error.message] };
  }
}

function twinWarning(twin: TaskRecord): string {
  if ("taskId" in twin.state) {
    const { taskId } = twin.state;
    return `An identical request is charged and unfinished (task ${taskId}): ${resumeCommand(taskId)} finishes it at no cost. This request is submitted and charged too.`;
  }
  if (twin.state.name === "rate_limited")
    return `Another process waits to submit the same request (${twin.id}). This one is submitted and charged too.`;
  return `An identical request was submitted before, with unknown outcome (${twin.id}). This request is submitted and charged too.`;
}
