import type { Claim } from "../lib/claim.ts";
import { isSameMachine, type Processes, type ProcessIdentity } from "../lib/processes.ts";
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
  return holder !== null && !isSameMachine(holder, self) && nowMs < submittingUntilMs(record);
}

/** No request takes longer, so that a later time comes from a clock that was set back. */
const LONGEST_HOLD_MS = 24 * 3_600_000;

/**
 * Whether the time is over until which a task's holder has it, even if its process lives: it was stopped, or the thread
 * was ended that worked on it.
 */
export function isOverdue({ state }: TaskRecord, nowMs: number): boolean {
  if (!("tries" in state)) return false;
  const untilMs = Date.parse(state.until ?? "");
  return !(nowMs < untilMs && untilMs < nowMs + LONGEST_HOLD_MS);
}

/** Milliseconds since the epoch; in the past for a request whose submit has ended. */
function submittingUntilMs({ state, submittedAt }: TaskRecord): number {
  if ("tries" in state) return Date.parse(state.until ?? "");
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
  const holder = holderOf(record);
  if (holder === null || isOverdue(record, nowMs)) return true;
  return !(isAlive(holder) || mayBeUnderWay(record, self, nowMs));
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
