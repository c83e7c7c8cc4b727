import type { RunnerTask } from "../../core/engine/queued-task.ts";
import { POLICY } from "../../core/limits/policy.ts";
import type { ErrorType } from "../../lib/error-types.ts";
import type { Task } from "../../task/task.ts";
import { endOf, type TaskEnd } from "../end.ts";
import type { Service } from "../serve-options.ts";
import { findTask } from "../server-tasks.ts";

/** Interval between two reads of a task: one that this process has is in memory, any other on the disk. */
const READ_MS = 100;
const READ_FROM_DISK_MS = 1_000;

/** Time that a client waits in an outage for an attempt, in milliseconds: a connect timeout of 10 s, and less than 15 s. */
const MAX_OUTAGE_MS = 12_000;

interface Ended {
  task: Task;
  end: TaskEnd;
  /** Type of the error that kept its rest from being sent; null for none. */
  obstacle: ErrorType | null;
}

/** Reason that a task is not sent. */
interface Obstacle {
  type: ErrorType;
  why: string;
}

/**
 * Waits for the end of a task. If the generator is down or refuses the account, or the disk is full, what was not sent of it is
 * dropped: its client waits for an answer.
 * @param onShare called with the progress of its images, from 0 to 1, again and again
 * @returns null once the signal has aborted
 * @throws if its record cannot be read
 */
export async function awaitEnd(
  taskId: string,
  service: Service,
  signal: AbortSignal,
  onShare: (share: number) => void,
): Promise<Ended | null> {
  const { runner, clock } = service;
  const sinceMs = clock.monotonicMs();
  let obstacle: ErrorType | null = null;
  while (!signal.aborted) {
    const here = runner.find(taskId);
    const isHere = here?.isEnded === false;
    if (isHere) {
      if (here.share !== null) onShare(here.share);
      const current = obstacleTo(here, sinceMs, service);
      if (current !== null) {
        obstacle = current.type;
        runner.drop(taskId, current.why);
      }
    } else {
      const task = await findTask(taskId, service);
      if (task === null) throw new Error("Its record cannot be read.");
      const end = endOf(task);
      if (end !== null) return { task, end, obstacle };
    }
    await clock.sleep(isHere ? READ_MS : READ_FROM_DISK_MS, signal).catch(() => {});
  }
  return null;
}

/** Obstacle that keeps requests of a task from being sent, other than their turn; null for none. */
function obstacleTo(here: RunnerTask, sinceMs: number, { gate, clock }: Service): Obstacle | null {
  if (here.isSubmitted) return null;
  const { outage } = gate;
  if (outage === null)
    return here.error !== null && isLasting(here.error.type) ? toObstacle(here.error) : null;
  const { kind, refusal, why, beganMs, failedMs } = outage;
  const minRetryMs = POLICY.outage.minRetryMs[kind];
  // Each lost one may be charged, so none is made because a client waits.
  const hasFailed = failedMs >= sinceMs - (Number.isFinite(minRetryMs) ? minRetryMs : 0);
  const isLong = clock.monotonicMs() - Math.max(sinceMs, beganMs) >= MAX_OUTAGE_MS;
  if (!hasFailed && !isLong) return null;
  return refusal === null ? { type: "network", why } : toObstacle(refusal);
}

function toObstacle({ type, message }: { type: ErrorType; message: string }): Obstacle {
  return { type, why: message };
}

/** Whether an error keeps a task from being sent, and not only this run from going on with it. */
function isLasting(type: ErrorType): boolean {
  return type !== "interrupted" && type !== "pending";
}
