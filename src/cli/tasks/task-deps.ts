import type { Connection, TaskDeps } from "../../core/deps.ts";
import { PollingSchedules } from "../../core/polling/schedules.ts";
import type { OnTaskProgress } from "../../core/task/progress-events.ts";
import { gatheredClock } from "../../lib/gathered-clock.ts";
import type { Session } from "../app/session.ts";
import { SANDBOX_SERVICE } from "./connections.ts";
import { openLedger } from "./ledger.ts";

/** What the core needs, taken from a command's session. */
export async function taskDeps(
  session: Session,
  connection: Connection,
  onProgress: OnTaskProgress,
  requestTimeoutMs?: number,
): Promise<TaskDeps> {
  const { clock, signal, fileMode, random } = session.context;
  const ledger = openLedger(session);
  return {
    connection,
    ledger,
    schedules: new PollingSchedules(ledger, connection.identity, connection.taskMs),
    published: session.published,
    clock: gatheredClock(clock),
    signal,
    onProgress,
    fileMode,
    random,
    writeOut: (bytes) => session.console.imageBytes(bytes),
    // The sandbox is free.
    dailyCredits:
      connection.identity.baseUrl === SANDBOX_SERVICE ? null : await session.settings.dailyCredits(),
    downloadIdleMs: requestTimeoutMs,
  };
}
