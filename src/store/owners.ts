import { isoTime } from "../lib/clock.ts";
import { isHeld } from "../lib/lease.ts";
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
  if (owner === null || isSameMachine(owner, self)) return false;
  const until = submittingUntil(record);
  return until !== null && isHeld({ ...owner, until }, { self, isAlive: () => false }, nowMs);
}

/** Until when a request may be submitted, ISO 8601; null for one whose submit has ended. */
function submittingUntil({ state, submittedAt }: TaskRecord): string | null {
  if (state.name !== "intent" && state.name !== "rate_limited") return null;
  const untilMs = state.until === null ? Number.NaN : Date.parse(state.until);
  if (!Number.isNaN(untilMs)) return state.until;
  const submittedMs = Date.parse(submittedAt);
  return Number.isNaN(submittedMs) ? null : isoTime(submittedMs + LONGEST_SUBMIT_MS);
}

/**
 * Whether the process that was to submit a task is gone, or has released it, so that the task will not be submitted.
 * This process too is alive until the record says that it has released the task: another client, another thread or
 * another copy of the package may be working on it. On this machine it has no time limit: it may wait out a 429.
 */
export function isOwnerGone(record: TaskRecord, processes: Processes, nowMs: number): boolean {
  return !(isHeld(record.owner, processes, nowMs) || mayBeUnderWay(record, processes.self, nowMs));
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
