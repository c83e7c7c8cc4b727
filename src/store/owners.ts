import { isOwnerHeld, isWithinItsTime } from "../lib/claim-files.ts";
import { isoTime } from "../lib/clock.ts";
import type { Claim } from "../lib/lease-files.ts";
import { isInSameScope, type Processes, type ProcessIdentity } from "../lib/processes.ts";
import type { TaskRecord } from "../task/record.ts";
import type { TaskFile } from "./task-file.ts";

/** How long a submit may take if the claim does not say: the timeout and some margin. */
export const LONGEST_SUBMIT_MS = 150_000;

/** The process that has a task in hand, as its file says; null: none. */
export function holderOf({ state, owner }: TaskRecord): ProcessIdentity | null {
  return "tries" in state ? state.by : owner;
}

/**
 * Whether the owner is on another machine, where it cannot be checked, and may still be submitting according to its
 * claim, which is respected.
 */
export function mayBeUnderWay(record: TaskRecord, self: ProcessIdentity, nowMs: number): boolean {
  const holder = holderOf(record);
  if (holder === null || isInSameScope(holder, self)) return false;
  const until = submittingUntil(record);
  return until !== null && isOwnerHeld({ ...holder, until }, { self, isAlive: () => false }, nowMs);
}

/**
 * Whether the time is over until which a task's holder has it, even if its process lives: it was stopped, or the thread
 * was ended that worked on it.
 */
export function isOverdue({ state }: TaskRecord, nowMs: number): boolean {
  return "tries" in state && !isWithinItsTime({ by: null, until: state.until ?? "" }, nowMs);
}

/** Until when a request may be submitted, ISO 8601; null for one whose submit has ended. */
function submittingUntil({ state, submittedAt }: TaskRecord): string | null {
  if ("tries" in state) return state.until;
  if (state.name !== "intent" && state.name !== "rate_limited") return null;
  const untilMs = state.until === null ? Number.NaN : Date.parse(state.until);
  if (!Number.isNaN(untilMs)) return state.until;
  const submittedMs = Date.parse(submittedAt);
  return Number.isNaN(submittedMs) ? null : isoTime(submittedMs + LONGEST_SUBMIT_MS);
}

/**
 * Whether the process that was to submit a task is gone, or has released it, so that the task will not be submitted.
 * A task of this process is in hand as well, until its record says that it was released: another client, another thread
 * or another copy of the package may be working on it. On this machine it has no time limit: it may wait out a 429.
 */
export function isOwnerGone(record: TaskRecord, processes: Processes, nowMs: number): boolean {
  if (isOverdue(record, nowMs)) return true;
  return !(isOwnerHeld(holderOf(record), processes, nowMs) || mayBeUnderWay(record, processes.self, nowMs));
}

/** A task that this process may write to. */
export interface OwnedTask {
  record: TaskRecord;
  file: TaskFile;
  /** The claim on it, where it was taken over from another process; null where this process has begun it. */
  claim: Pick<Claim, "isKept"> | null;
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
