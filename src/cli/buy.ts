import { type GenerateOrder, generate } from "../core/generate.ts";
import { findUnfinishedTwin } from "../core/history.ts";
import type { TaskReport } from "../core/report.ts";
import type { TaskRecord } from "../store/task.ts";
import { Connections } from "./connect.ts";
import { resumeCommand } from "./failure.ts";
import { openLedger } from "./ledger.ts";
import { createProgress } from "./progress.ts";
import type { Session } from "./session.ts";
import { taskDeps } from "./task-deps.ts";

/** Connects, says what a person should know before money is spent, and generates. */
export async function buy(
  order: GenerateOrder,
  requestTimeoutMs: number | undefined,
  session: Session,
): Promise<TaskReport> {
  const connections = new Connections(session, requestTimeoutMs);
  try {
    const connection = await connections.current();
    const warnings = [...order.checked.warnings];
    const twin = await findUnfinishedTwin(openLedger(session), order.checked.request, connection.identity);
    if (twin) {
      warnings.push(twinWarning(twin));
      await session.console.warn(twinWarning(twin));
    }
    const progress = await createProgress(session.console, session.context);
    const deps = taskDeps(session, connection, (event) => progress.show(event), requestTimeoutMs);
    try {
      return await generate({ ...order, checked: { ...order.checked, warnings } }, deps);
    } finally {
      progress.stop();
    }
  } finally {
    await connections.close();
  }
}

function twinWarning(twin: TaskRecord): string {
  if ("taskId" in twin.progress) {
    const { taskId } = twin.progress;
    return `The same request is paid for and unfinished (task ${taskId}): ${resumeCommand(taskId)} finishes it at no cost. This one is bought as well.`;
  }
  return `The same request was sent before, with unknown outcome (${twin.id}). This one is sent as well.`;
}
