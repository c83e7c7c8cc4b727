import type { Connection, TaskDeps } from "../core/deps.ts";
import type { OnTaskProgress } from "../core/events.ts";
import { openLedger } from "./ledger.ts";
import type { Session } from "./session.ts";

/** What the core needs, taken from a command's session. */
export function taskDeps(
  session: Session,
  connection: Connection,
  onProgress: OnTaskProgress,
  requestTimeoutMs?: number,
): TaskDeps {
  const { clock, signal, fileMode, random } = session.context;
  return {
    connection,
    ledger: openLedger(session),
    clock,
    signal,
    onProgress,
    fileMode,
    random,
    writeOut: (bytes) => session.console.imageBytes(bytes),
    downloadIdleMs: requestTimeoutMs,
  };
}
