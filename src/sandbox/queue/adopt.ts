import { takeClaim } from "../../lib/claim.ts";
import { isSameMachine } from "../../lib/processes.ts";
import { type RequestDeps, recoverImage } from "./make-image.ts";
import type { Queue } from "./queue.ts";
import type { QueuedTasks } from "./task-folder.ts";
import { isEnded, type StartedState } from "./task-state.ts";

export interface AdoptDeps extends RequestDeps {
  tasks: QueuedTasks;
  /** The folder of the claims on tasks. */
  claims: string;
  queue: Queue;
}

/**
 * Takes a task into this process's queue, unless a living process has it. What came of a request that was on its way when
 * its process ended is found out, and is on disk, before anything else happens to the task.
 * @throws the disk's error
 */
export async function adopt(taskId: string, deps: AdoptDeps): Promise<void> {
  const { tasks, claims, queue, processes, clock } = deps;
  const taken = await takeClaim(claims, taskId, null, processes);
  if (taken.isTaken) return;
  const { claim } = taken;
  try {
    // Only now can nobody else change it.
    const folder = await tasks.find(taskId);
    const state = folder?.state;
    if (folder && state?.name === "started" && !mayBeUnderWay(state, deps, clock.now())) {
      await recoverImage(folder, state, deps);
    }
    if (folder?.state.name === "queued") return await queue.add(folder, claim);
    if (folder && isEnded(folder.state)) await tasks.finish(folder);
    await claim.release();
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Whether a request was sent from another machine, where its process cannot be checked, and may be on its way. */
function mayBeUnderWay({ by, untilMs }: StartedState, { processes }: RequestDeps, nowMs: number): boolean {
  return !isSameMachine(by, processes.self) && nowMs < untilMs;
}
