import type { ProcessIdentity } from "../lib/processes.ts";
import type { TaskRecord } from "./task.ts";

/** A submit's time-out, and some. */
const LONGEST_SUBMIT_MS = 150_000;

/** The task files that this process holds, in any ledger it has open. */
const heldHere = new Set<string>();

/** Notes that this process is at work on a task. */
export function hold(file: string): void {
  heldHere.add(file);
}

/** Notes that it is not any more. */
export function letGo(file: string): void {
  heldHere.delete(file);
}

/** Who bought a task and may still be at it; nobody where this very process did and has let go of it. */
export function ownerOf({ owner }: TaskRecord, file: string, self: ProcessIdentity): ProcessIdentity | null {
  const ours = owner.pid === self.pid && owner.host === self.host && owner.started === self.started;
  return ours && !heldHere.has(file) ? null : owner;
}

/** A process of another machine cannot be asked; a submit of it that is so young is left to it. */
export function mayBeUnderWay(
  { owner, progress, submittedAt }: TaskRecord,
  self: ProcessIdentity,
  nowMs: number,
): boolean {
  if (owner.host === self.host || progress.status !== "intended") return false;
  return nowMs - Date.parse(submittedAt) < LONGEST_SUBMIT_MS;
}
