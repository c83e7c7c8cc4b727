import { setMaxListeners } from "node:events";
import type { Connection, TaskDeps } from "../../core/deps.ts";
import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import type { ResumeDeps } from "../../core/task/resume.ts";
import type { Session } from "../app/session.ts";
import { createProgress } from "../output/progress.ts";
import { Connections } from "./connections.ts";
import { openLedger } from "./ledger.ts";
import { taskDeps } from "./task-deps.ts";

/** Runs work on existing tasks, each at its own account, and puts everything away after it. */
export async function withTasks<Result>(
  session: Session,
  requestTimeoutMs: number | undefined,
  work: (deps: ResumeDeps) => Promise<Result>,
): Promise<Result> {
  // Every task that is waited for listens to it, so many listeners are no leak to warn of.
  setMaxListeners(0, session.context.signal);
  const connections = new Connections(session, requestTimeoutMs);
  const progress = await createProgress(session.console, session.context);
  const onProgress = (event: TaskProgressEvent) => progress.show(event);
  // One for each connection: tasks of one account learn from each other.
  const known = new Map<Connection, Promise<TaskDeps>>();
  const depsFor: ResumeDeps["depsFor"] = async (service, taskId) => {
    const connection = await (service ? connections.of(service, taskId) : connections.current());
    const deps = known.get(connection) ?? taskDeps(session, connection, onProgress, requestTimeoutMs);
    known.set(connection, deps);
    return deps;
  };
  try {
    return await work({ ledger: openLedger(session), depsFor });
  } finally {
    progress.stop();
    await connections.close();
  }
}
