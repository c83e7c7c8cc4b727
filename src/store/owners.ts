import { isSameMachine, isSameProcess, type Processes, type ProcessIdentity } from "../lib/processes.ts";
import type { TaskRecord } from "../task/record.ts";

/** How long a submit may take if the claim does not say: the timeout and some margin. */
export const LONGEST_SUBMIT_MS = 150_000;

/** The task files that this process is working on, in any open ledger, and how often. */
const atWorkHere = new Map<string, number>();

/** Records that this process is working on a task; called before its file is visible, so that it never looks abandoned. */
export function startWork(file: string): void {
  atWorkHere.set(file, (atWorkHere.get(file) ?? 0) + 1);
}

/** Records that it no longer is. Two ledgers of one process may want to begin the same task. */
export function stopWork(file: string): void {
  const times = atWorkHere.get(file) ?? 0;
  if (times > 1) atWorkHere.set(file, times - 1);
  else atWorkHere.delete(file);
}

/** The process that began a task and may still be working on it; null if it is this one and has released it. */
export function ownerOf({ owner }: TaskRecord, file: string, self: ProcessIdentity): ProcessIdentity | null {
  return isSameProcess(owner, self) && !atWorkHere.has(file) ? null : owner;
}

/**
 * Whether the owner is on another machine, where it cannot be checked, and may still be submitting according to its
 * claim, which is respected.
 */
export function mayBeUnderWay(record: TaskRecord, self: ProcessIdentity, nowMs: number): boolean {
  return !isSameMachine(record.owner, self) && nowMs < submittingUntilMs(record);
}

/** Milliseconds since the epoch; in the past for a request whose submit has ended. */
function submittingUntilMs({ state, submittedAt }: TaskRecord): number {
  if (state.name !== "intent" && state.name !== "rate_limited") return Number.NEGATIVE_INFINITY;
  const untilMs = state.until === null ? Number.NaN : Date.parse(state.until);
  return Number.isNaN(untilMs) ? Date.parse(submittedAt) + LONGEST_SUBMIT_MS : untilMs;
}

/** Whether the process that was to submit a task is gone, so that the task will not be submitted. */
export function isOwnerGone(
  record: TaskRecord,
  file: string,
  { self, isAlive }: Processes,
  nowMs: number,
): boolean {
  const owner = ownerOf(record, file, self);
  return owner === null || !(isAlive(owner) || mayBeUnderWay(record, self, nowMs));
}
