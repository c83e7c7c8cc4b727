import type { OwnerLease } from "../../lib/claim-files.ts";
import { isInSameScope, type ProcessIdentity } from "../../lib/processes.ts";

/** Describes who has a turn that others wait for: "another imggen process, pid 4711". */
export function describeHolder(lease: OwnerLease, self: ProcessIdentity, nowMs: number): string {
  const atMost = `for ${minutesUntil(lease.until, nowMs)} at most`;
  if ("by" in lease) return `a request that was given up, ${atMost}`;
  if (!isInSameScope(lease, self)) return `a process on host ${lease.host}, ${atMost}`;
  return isSameProcess(lease, self)
    ? "another task of this process"
    : `another imggen process, pid ${lease.pid}`;
}

/** Describes who is working on a task, to begin a sentence: "Another process (pid 4711)". @param worker null: not known */
export function describeWorker(worker: ProcessIdentity | null, self: ProcessIdentity): string {
  if (worker === null) return "Another process";
  if (!isInSameScope(worker, self)) return `A process on host ${worker.host} (pid ${worker.pid})`;
  return isSameProcess(worker, self) ? "Another call of this process" : `Another process (pid ${worker.pid})`;
}

function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started;
}

/** Whole minutes, so that a waiter is told of a change once a minute. */
function minutesUntil(until: string | undefined, nowMs: number): string {
  const minutes = Math.max(1, Math.ceil((Date.parse(until ?? "") - nowMs) / 60_000) || 1);
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
