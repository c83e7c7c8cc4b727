import type { EarlyConnection } from "../../api/early-connection.ts";
import { resumeCommand } from "../../client/failure.ts";
import type { TaskDeps } from "../../core/deps.ts";
import { checkDailyLimit } from "../../core/limits/daily-limit.ts";
import { dismissTask } from "../../core/task/dismiss.ts";
import { type GenerateOrder, generate } from "../../core/task/generate.ts";
import { findUnfinishedDuplicate } from "../../core/task/history.ts";
import type { TaskReport } from "../../core/task/report.ts";
import { ImggenError } from "../../lib/errors.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { Session } from "../app/session.ts";
import { createProgress } from "../output/progress.ts";
import { withTasksShown } from "./with-tasks.ts";

interface BuyOrder extends GenerateOrder {
  /** The task that is bought once more on the user's word: no reason for a warning. */
  repeated: TaskRecord | null;
  /** Whether it may be bought under a limit that its cost cannot be held to. */
  allowUndocumented: boolean;
  requestTimeoutMs: number | undefined;
  /** What the request is to go over, where that is open already. */
  early: EarlyConnection | null;
}

/**
 * Connects, says what a person should know before money is spent, and generates.
 * @throws BudgetExceededError where the day's limit would be passed, or what `generate` throws; nothing was sent
 */
export async function submitRequest(order: BuyOrder, session: Session): Promise<TaskReport> {
  const { repeated, requestTimeoutMs, early } = order;
  const progress = await createProgress(session.console, session.context, order.checked);
  return withTasksShown(session, { requestTimeoutMs, early }, progress, async ({ current }) => {
    const deps = await current();
    const { ledger, connection } = deps;
    const warnings = [...order.checked.warnings];
    const twin = await findUnfinishedDuplicate(ledger, order.checked.request, connection.identity);
    if (twin && twin.id !== repeated?.id) {
      warnings.push(twinWarning(twin));
      await session.console.warn(twinWarning(twin));
    }
    const { credits } = order.checked;
    const cost = { credits: credits ?? 0, undocumented: credits === null ? 1 : 0 };
    await checkDailyLimit(cost, connection.identity.keyId, deps, order.allowUndocumented);
    const report = await generate({ ...order, checked: { ...order.checked, warnings } }, deps);
    return repeated && isUnknown(repeated) ? settled(repeated, report, deps) : report;
  });
}

/** The user bought again what nobody knew the outcome of: that is the answer to the older question. */
async function settled(repeated: TaskRecord, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  if (report.charged === "no") return report;
  try {
    await dismissTask(repeated, { why: "bought again", replacement: report.ledgerId }, deps);
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
