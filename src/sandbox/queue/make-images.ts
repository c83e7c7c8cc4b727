import type { Admission } from "./admission.ts";
import type { RunningPhase } from "./entries.ts";
import { isPaidTask, makeImage, type RequestDeps } from "./make-image.ts";
import type { RequestEnd } from "./request-end.ts";
import type { TaskFolder } from "./task-folder.ts";
import { isEnded } from "./task-state.ts";

/**
 * Makes the images of a task, one after the other, until it has all of them, or one is to be asked for again, or no request
 * may be sent.
 * @returns how the last request ended. @throws as `makeImage`
 */
export async function makeImages(
  folder: TaskFolder,
  phase: RunningPhase,
  deps: RequestDeps & { admission: Admission },
): Promise<RequestEnd | null> {
  const onProgress = (share: number) => {
    phase.share = share;
  };
  let end: RequestEnd | null = null;
  while (!isEnded(folder.state)) {
    const { results } = folder.state;
    phase.share = null;
    end = await makeImage(folder, folder.state, deps, { signal: phase.giveUp.signal, onProgress });
    await deps.admission.onEnd(end);
    const isAgain = !isEnded(folder.state) && folder.state.results.length === results.length;
    if (isAgain || isLate(end, folder, deps) || deps.admission.condition.name !== "open") break;
  }
  return end;
}

/** Whether a free generator may still be at work on a request that timed out. */
export function isLate(end: RequestEnd | null, folder: TaskFolder, deps: RequestDeps): boolean {
  return end?.kind === "timed out" && !isPaidTask(folder, deps);
}
