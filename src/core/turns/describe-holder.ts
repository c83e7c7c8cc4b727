import type { Lease } from "../../lib/lease.ts";
import { isSameMachine, type ProcessIdentity } from "../../lib/processes.ts";

/** Describes who has a turn that others wait for: "another imggen process, pid 4711". */
export function describeHolder(lease: Lease, self: ProcessIdentity, nowMs: number): string {
  const atMost = `for ${minutesUntil(lease.until, nowMs)} at most`;
  if ("by" in lease) return `a request that was given up, ${atMost}`;
  if (!isSameMachine(lease, self)) return `a process on host ${lease.host}, ${atMost}`;
  const isOwn = lease.pid === self.pid && lease.started === self.started;
  return isOwn ? "another task of this process" : `another imggen process, pid ${lease.pid}`;
}

/** Whole minutes, so that a waiter is told of a change once a minute. */
function minutesUntil(until: string | undefined, nowMs: number): string {
  const minutes = Math.max(1, Math.ceil((Date.parse(until ?? "") - nowMs) / 60_000) || 1);
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
