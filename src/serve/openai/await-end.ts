import type { RunnerTask } from "../../core/engine/queued-task.ts";
import { POLICY } from "../../core/limits/policy.ts";
import type { ErrorType } from "../../lib/error-types.ts";
import type { Task } from "../../task/task.ts";
import { getTaskEnd, type TaskEnd } from "../end.ts";
import type { Service } from "../serve-options.ts";
import { findTask } from "../server-tasks.ts";

/** Intervals between reads of a task, in milliseconds: in memory for a task of this process, otherwise on disk. */
const READ_MS = 100;
const READ_FROM_DISK_MS = 1_000;

/** Maximum wait during an outage. It is above the connect timeout of 10 s, but allows a 503 within 15 s. */
const MAX_OUTAGE_MS = 12_000;

interface EndedTask {
  task: Task;
  end: TaskEnd;
  obstacle: ErrorType | null;
}

interface Obstacle {
  type: ErrorType;
  why: string;
}

/**
 * Waits until a task has ended. Drops unsent requests if the generator, the account or the disk prevents submits.
 * @param onShare called repeatedly with the progress, from 0 to 1
 * @returns null if the signal has aborted @throws if the task's record cannot be read
 */
export async function awaitEnd(
  taskId: string,
  service: Service,
  signal: AbortSignal,
  onShare: (share: number) => void,
): Promise<EndedTask | null> {
  const { runner, clock } = service;
  const sinceMs = clock.monotonicMs();
  let obstacle: ErrorType | null = null;
  while (!signal.aborted) {
    const runnerTask = runner.find(taskId);
    const isInMemory = runnerTask?.isEnded === false;
    if (isInMemory) {
      if (runnerTask.share !== null) onShare(runnerTask.share);
      const current = findObstacle(runnerTask, sinceMs, service);
      if (current !== null) {
        obstacle = current.type;
        runner.drop(taskId, current.why);
      }
    } else {
      const task = await findTask(taskId, service);
      if (task === null) throw new Error("The record of the task cannot be read.");
      const end = getTaskEnd(task);
      if (end !== null) return { task, end, obstacle };
    }
    await clock.sleep(isInMemory ? READ_MS : READ_FROM_DISK_MS, signal).catch(() => {});
  }
  return null;
}

function findObstacle(runnerTask: RunnerTask, sinceMs: number, { gate, clock }: Service): Obstacle | null {
  if (runnerTask.isSubmitted) return null;
  const { outage } = gate;
  if (outage === null)
    return runnerTask.error !== null && isLasting(runnerTask.error.type)
      ? toObstacle(runnerTask.error)
      : null;
  const { kind, refusal, why, beganMs, failedMs } = outage;
  const minRetryMs = POLICY.outage.minRetryMs[kind];
  // A failure shortly before the wait counts too, because the gate makes no new attempt within `minRetryMs`. After a
  // lost reply, only a failure during the wait counts.
  const hasFailed = failedMs >= sinceMs - (Number.isFinite(minRetryMs) ? minRetryMs : 0);
  const isLong = clock.monotonicMs() - Math.max(sinceMs, beganMs) >= MAX_OUTAGE_MS;
  if (!hasFailed && !isLong) return null;
  return refusal === null ? { type: "network", why } : toObstacle(refusal);
}

function toObstacle({ type, message }: { type: ErrorType; message: string }): Obstacle {
  return { type, why: message };
}

/** Whether an error prevents every submit, and not only this attempt. */
function isLasting(type: ErrorType): boolean {
  return type !== "interrupted" && type !== "pending";
}
