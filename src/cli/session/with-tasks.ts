import { Workspace, type WorkspaceOptions } from "../../client/workspace.ts";
import type { UseCaseDeps } from "../../core/deps.ts";
import type { OnTaskProgress } from "../../core/task/progress-events.ts";
import type { Session } from "./session.ts";

/** Shows the progress of tasks. */
interface Shown {
  show: OnTaskProgress;
  stop: () => void;
}

/**
 * Runs tasks, each at its own account, shows their progress, and closes everything afterwards.
 * @param options.onlyLooks whether a queue before the user's own generator is to say how tasks stand, and run none
 */
export async function withTasksShown<Result>(
  session: Session,
  { onlyLooks, ...options }: WorkspaceOptions & { onlyLooks?: boolean },
  progress: Shown,
  work: (deps: UseCaseDeps) => Promise<Result>,
): Promise<Result> {
  const workspace = new Workspace(session, options);
  const caller = {
    signal: session.context.signal,
    onProgress: (event: Parameters<OnTaskProgress>[0]) => progress.show(event),
    writeOut: (bytes: AsyncIterable<Buffer>) => session.console.imageBytes(bytes),
  };
  try {
    return await work(workspace.depsFor(caller, onlyLooks));
  } finally {
    progress.stop();
    await workspace.close();
  }
}
