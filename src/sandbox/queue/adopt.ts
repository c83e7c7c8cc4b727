import { type Claim, takeClaim } from "../../lib/claim.ts";
import { isSameMachine } from "../../lib/processes.ts";
import { type RequestDeps, recoverImage } from "./make-image.ts";
import type { Queue } from "./queue.ts";
import type { QueuedTasks, TaskFolder } from "./task-folder.ts";
import { isEnded, type StartedState } from "./task-state.ts";

export interface AdoptDeps extends RequestDeps {
  tasks: QueuedTasks;
  /** The folder of the claims on tasks. */
  claims: string;
  queue: Queue;
}

/** Takes a task into this process's queue, unless a living process has it. @throws the disk's error */
export async function adopt(taskId: string, deps: AdoptDeps): Promise<void> {
  await adoptInOrder([taskId], deps, (_taskId, error) => {
    throw error;
  });
}

/**
 * Takes several tasks into this process's queue, the oldest first.
 * @param onError called for each that cannot be taken over
 */
export async function adoptInOrder(
  taskIds: readonly string[],
  deps: AdoptDeps,
  onError: (taskId: string, error: unknown) => void,
): Promise<void> {
  const taken: OwnedTask[] = [];
  for (const taskId of taskIds) {
    try {
      const task = await takeOver(taskId, deps);
      if (task !== null) taken.push(task);
    } catch (error) {
      onError(taskId, error);
    }
  }
  taken.sort((a, b) => a.folder.task.submittedAt - b.folder.task.submittedAt);
  for (const { folder, claim } of taken) await deps.queue.add(folder, claim);
}

interface OwnedTask {
  folder: TaskFolder;
  claim: Claim;
}

/**
 * Claims a task that is to be queued. What came of a request that was on its way when its process ended is found out,
 * and is on disk, before anything else happens to the task.
 * @returns null if a living process has it, or it is at its end
 */
async function takeOver(taskId: string, deps: AdoptDeps): Promise<OwnedTask | null> {
  const { tasks, claims, processes, clock } = deps;
  const taken = await takeClaim(claims, taskId, null, processes);
  if (taken.isTaken) return null;
  const { claim } = taken;
  try {
    // Only now can nobody else change it.
    const folder = await tasks.find(taskId);
    const state = folder?.state;
    if (folder && state?.name === "started" && !mayBeUnderWay(state, deps, clock.now())) {
      await recoverImage(folder, state, deps);
    }
    if (folder?.state.name === "queued") return { folder, claim };
    if (folder && isEnded(folder.state)) await tasks.finish(folder);
  } catch (error) {
    await claim.release();
    throw error;
  }
  await claim.release();
  return null;
}

/** Whether a request was sent from another machine, where its process cannot be checked, and may be on its way. */
function mayBeUnderWay({ by, untilMs }: StartedState, { processes }: RequestDeps, nowMs: number): boolean {
  return !isSameMachine(by, processes.self) && nowMs < untilMs;
}
