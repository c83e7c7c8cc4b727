import { type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import { type Destination, GENERATOR_KEY_ID, isSamePlace } from "../../task/intent.ts";
import { isUnknown } from "../../task/record.ts";
import type { TaskDeps, UseCaseDeps } from "../deps.ts";
import type { WaitResult, WaitSettings } from "../polling/wait.ts";
import { askQueue } from "./ask-queue.ts";
import { recordNotSent } from "./dismiss.ts";
import { finishTask } from "./finish.ts";
import { reportOf, type TaskReport } from "./report.ts";
import type { AcceptedTask } from "./save-task.ts";
import { TaskWriter } from "./task-writer.ts";

export interface ResumeSpec {
  wait: WaitSettings;
  /** Where to save what is finished now, in place of where the task itself says. */
  destination: Destination | null;
  /** Whether a file there that is newer than the task is kept under --overwrite: another row of a batch may be saved in it. */
  keepsNewer?: boolean;
}

/**
 * Takes a task that this process owns as far as it goes.
 * @param seen how the wait for it ended, where it was waited for already
 * @throws what keeps its service from being asked; StateFolderError
 */
export async function finishOwned(
  owned: OwnedTask,
  options: ResumeSpec,
  deps: UseCaseDeps,
  seen: WaitResult | null = null,
): Promise<TaskReport> {
  const { record } = owned;
  const { state, intent } = record;
  const report = reportOf(record);
  if (isUnknown(record)) {
    const known = await askOwnQueue(owned, deps);
    if (known !== null) return finishOwned(known, options, deps, seen);
    await releaseIfPossible(owned);
    return report;
  }
  if (state.name === "rate_limited") return recordNotSent(owned, deps.ledger);
  if (state.name !== "accepted" && state.name !== "completed") {
    // Its process ended just before it moved the file to `done`.
    await new TaskWriter(deps.ledger, owned, () => {}).finish();
    return report;
  }
  const { taskId } = state;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent.service, taskId);
  } catch (error) {
    await releaseIfPossible(owned);
    throw error;
  }
  const onLedgerWarning = (message: string) => taskDeps.onProgress({ type: "ledger_warning", message });
  const { destination } = options;
  const isOwnPlace = destination === null || isSamePlace(destination, intent.destination);
  const task = {
    ...earlierTask(taskId, state.acceptedAt, intent.destination, options),
    writer: new TaskWriter(deps.ledger, owned, onLedgerWarning),
    // Where another place is asked for, all of it is wanted there.
    saved: state.name === "completed" && isOwnPlace ? state.partlySaved : [],
  };
  return finishTask(task, report, options.wait, taskDeps, seen);
}

/**
 * A task of an earlier run, to be saved from the start. Nothing is recorded of it: that needs a writer.
 * @param place where the task itself says that its images go
 */
export function earlierTask(
  taskId: string,
  acceptedAt: string | null,
  place: Destination,
  { destination, keepsNewer = false }: Pick<ResumeSpec, "destination" | "keepsNewer">,
): AcceptedTask {
  return {
    taskId,
    writer: null,
    destination: destination ?? recoveryDestination(place),
    acceptedAtMs: acceptedAt === null ? null : Date.parse(acceptedAt),
    recovering: true,
    // The user has named this place now, and so knows what is in it.
    replacesNewer: destination !== null && !keepsNewer,
    saved: [],
  };
}

async function askOwnQueue(owned: OwnedTask, deps: UseCaseDeps): Promise<OwnedTask | null> {
  const { id, intent } = owned.record;
  if (intent.service.keyId !== GENERATOR_KEY_ID) return null;
  // Without its generator the outcome stays unknown.
  const taskDeps = await deps.depsFor(intent.service, id).catch(() => null);
  return taskDeps && askQueue(owned, taskDeps);
}

/** The standard output of the original command is gone, so the image becomes a file. */
export function recoveryDestination(destination: Destination): Destination {
  return destination.kind === "stdout" ? { ...destination, kind: "folder" } : destination;
}
