import { isSameMachine, type Processes, type ProcessIdentity } from "../lib/processes.ts";
import type { TaskRecord } from "../task/record.ts";
import type { TaskFile } from "./task-file.ts";

/** How long a submit may take if the claim does not say: the timeout and some margin. */
export const LONGEST_SUBMIT_MS = 150_000;

/**
 * Whether the owner is on another machine, where it cannot be checked, and may still be submitting according to its
 * claim, which is respected.
 */
export function mayBeUnderWay(record: TaskRecord, self: ProcessIdentity, nowMs: number): boolean {
  const { owner } = record;
  return owner !== null && !isSameMachine(owner, self) && nowMs < submittingUntilMs(record);
}

/** Milliseconds since the epoch; in the past for a request whose submit has ended. */
function submittingUntilMs({ state, submittedAt }: TaskRecord): number {
  if (state.name !== "intent" && state.name !== "rate_limited") return Number.NEGATIVE_INFINITY;
  const untilMs = state.until === null ? Number.NaN : Date.parse(state.until);
  return Number.isNaN(untilMs) ? Date.parse(submittedAt) + LONGEST_SUBMIT_MS : untilMs;
}

/**
 * Whether the process that was to submit a task is gone, or has released it, so that the task will not be submitted.
 * This process too is alive until the record says that it has released the task: another client, another thread or
 * another copy of the package may be working on it.
 */
export function isOwnerGone(record: TaskRecord, { self, isAlive }: Processes, nowMs: number): boolean {
  const { owner } = record;
  return owner === null || !(isAlive(owner) || mayBeUnderWay(record, self, nowMs));
}

/** A task that this process may write to. */
export interface OwnedTask {
  record: TaskRecord;
  file: TaskFile;
  /** Whether it was taken over from another process, so that there are claims on it. */
  claimed: boolean;
  /** Releases it unfinished. */
  release(): Promise<void>;
}

/** Releases a task, or leaves that to the end of this process where the disk refuses it. */
export async function releaseIfPossible(task: OwnedTask): Promise<void> {
  await task.release().catch(() => {});
}

/** What decides which of several processes begins a task. */
export interface TaskClaim {
  /** @param draft the task's file, synced, under its first name. @returns whether the task is to be begun from it */
  take(draft: string): Promise<boolean>;
  /** Whether a process other than the one that claimed it may have begun the task. */
  isShared(): boolean;
}
