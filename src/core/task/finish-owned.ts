import { type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import { type Destination, isSamePlace } from "../../task/intent.ts";
import { isResumable } from "../../task/lifecycle.ts";
import type { TaskDeps, UseCaseDeps } from "../deps.ts";
import type { WaitResult, WaitSettings } from "../polling/wait.ts";
import { recordNotSent } from "./dismiss.ts";
import { finishTask } from "./finish.ts";
import { reportOf, type TaskReport } from "./report.ts";
import type { AcceptedTask } from "./save-task.ts";
import { TaskWriter } from "./task-writer.ts";
import { workOff } from "./work-off.ts";

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
  if (state.name === "intent" || state.name === "unknown") {
    await releaseIfPossible(owned);
    return report;
  }
  if (state.name === "rate_limited") return recordNotSent(owned, deps.ledger);
  if (!isResumable(state.name) || !("taskId" in state)) {
    // Its process ended just before it moved the file to `done`.
    await new TaskWriter(deps.ledger, owned, () => {}).finish();
    return report;
  }
  const { taskId } = state;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent, taskId);
  } catch (error) {
    await releaseIfPossible(owned);
    throw error;
  }
  const onLedgerWarning = (message: string) => taskDeps.onProgress({ type: "ledger_warning", message });
  const { destination } = options;
  const isOwnPlace = destination === null || isSamePlace(destination, intent.destination);
  const task = {
    ...earlierTask(taskId, "acceptedAt" in state ? state.acceptedAt : null, intent.destination, options),
    writer: new TaskWriter(deps.ledger, owned, onLedgerWarning),
    // Where another place is asked for, all of it is wanted there.
    saved: state.name === "completed" && isOwnPlace ? state.partlySaved : [],
  };
  if (!intent.work) return finishTask(task, report, options.wait, taskDeps, seen);
  return workOff(
    { ...task, acceptedAtMs: Date.parse(record.submittedAt) },
    options,
    report.warnings,
    taskDeps,
  );
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

/** The standard output of the original command is gone, so the image becomes a file. */
export function recoveryDestination(destination: Destination): Destination {
  return destination.kind === "stdout" ? { ...destination, kind: "folder" } : destination;
}
