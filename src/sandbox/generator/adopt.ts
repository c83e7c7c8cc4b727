import { type Claim, takeClaim } from "../../lib/claim.ts";
import { errorText } from "../../lib/error-text.ts";
import { isSameMachine } from "../../lib/processes.ts";
import { recoverImage } from "../queue/make-image.ts";
import type { TaskFolder } from "../queue/task-folder.ts";
import { isEnded, type StartedState } from "../queue/task-state.ts";
import type { GeneratorService } from "./service.ts";

/** How often tasks of ended processes are searched for, in milliseconds. */
const ADOPT_MS = 2_000;

/** Takes a task into this process's queue, unless a living process has it. @throws the disk's error */
export async function adopt(taskId: string, service: GeneratorService): Promise<void> {
  const task = await takeOver(taskId, service);
  if (task !== null) await service.queue.add(task.folder, task.claim);
}

/** Takes over the tasks of ended processes, now and from time to time, until it is stopped. */
export async function adoptAll(service: GeneratorService, signal: AbortSignal): Promise<void> {
  const told = new Set<string>();
  const onError = (taskId: string, error: unknown) => {
    if (!told.has(taskId)) service.onEvent?.({ kind: "dropped", taskId, why: errorText(error) });
    told.add(taskId);
  };
  while (!signal.aborted) {
    try {
      await adoptOthers(service, onError);
    } catch {
      // The disk refuses what the next round may be given.
    }
    await service.clock.sleep(ADOPT_MS, signal).catch(() => {});
  }
}

/** Takes over all tasks that no living process has, the oldest first. @param onError called for each that cannot be */
async function adoptOthers(
  service: GeneratorService,
  onError: (taskId: string, error: unknown) => void,
): Promise<void> {
  const taken: OwnedTask[] = [];
  for (const taskId of service.tasks.openIds()) {
    if (service.queue.has(taskId)) continue;
    try {
      const task = await takeOver(taskId, service);
      if (task !== null) taken.push(task);
    } catch (error) {
      onError(taskId, error);
    }
  }
  taken.sort((a, b) => a.folder.task.submittedAt - b.folder.task.submittedAt);
  for (const { folder, claim } of taken) await service.queue.add(folder, claim);
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
async function takeOver(taskId: string, service: GeneratorService): Promise<OwnedTask | null> {
  const { tasks, claims, processes } = service;
  const taken = await takeClaim(claims, taskId, null, processes);
  if (taken.isTaken) return null;
  const { claim } = taken;
  try {
    // Read under the claim: no other process can change it any more.
    const folder = await tasks.find(taskId);
    const state = folder?.state;
    if (folder && state?.name === "started" && !mayBeUnderWay(state, service)) {
      await recoverImage(folder, state, service);
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
function mayBeUnderWay({ by, untilMs }: StartedState, { processes, clock }: GeneratorService): boolean {
  return !isSameMachine(by, processes.self) && clock.now() < untilMs;
}
