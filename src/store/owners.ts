import { isSameMachine, isSameProcess, type Processes, type ProcessIdentity } from "../lib/processes.ts";
import type { TaskRecord } from "../task/record.ts";

/** How long a claim that does not say is taken to be at its submit: its time-out, and some. */
export const LONGEST_SUBMIT_MS = 150_000;

/** The task files that this process is at work on, in any ledger it has open, and how often. */
const heldHere = new Map<string, number>();

/** Notes that this process is at work on a task: before its file can be seen, or somebody in it may take it for left. */
export function hold(file: string): void {
  heldHere.set(file, (heldHere.get(file) ?? 0) + 1);
}

/** Notes that it is not any more. Two ledgers of one process may want to begin the same task. */
export function letGo(file: string): void {
  const times = heldHere.get(file) ?? 0;
  if (times > 1) heldHere.set(file, times - 1);
  else heldHere.delete(file);
}

/** Who bought a task and may still be at it; nobody where this very process did and has let go of it. */
export function ownerOf({ owner }: TaskRecord, file: string, self: ProcessIdentity): ProcessIdentity | null {
  return isSameProcess(owner, self) && !heldHere.has(file) ? null : owner;
}

/**
 * Whether the owner is of another machine, so that it cannot be asked, and may still be submitting by what the claim
 * says: that is left to it.
 */
export function mayBeUnderWay(record: TaskRecord, self: ProcessIdentity, nowMs: number): boolean {
  return !isSameMachine(record.owner, self) && nowMs < submittingUntilMs(record);
}

/** Milliseconds since the epoch; long ago for a request whose submit has come to its end. */
function submittingUntilMs({ state, submittedAt }: TaskRecord): number {
  if (state.name !== "intent" && state.name !== "rate_limited") return Number.NEGATIVE_INFINITY;
  const untilMs = state.until === null ? Number.NaN : Date.parse(state.until);
  return Number.isNaN(untilMs) ? Date.parse(submittedAt) + LONGEST_SUBMIT_MS : untilMs;
}

/** Whether nobody will submit a task any more that was not submitted yet. */
export function isOwnerGone(
  record: TaskRecord,
  file: string,
  { self, isAlive }: Processes,
  nowMs: number,
): boolean {
  const owner = ownerOf(record, file, self);
  return owner === null || !(isAlive(owner) || mayBeUnderWay(record, self, nowMs));
}
