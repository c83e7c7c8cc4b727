import { fieldsOf, jsonOrNull } from "./json.ts";
import { identityIn, type Processes, type ProcessIdentity } from "./processes.ts";

/** The right of a process to something that others want too (a task, a name, a turn), as a file records it. */
export interface Lease {
  /** null: no process has it, and no other may: what its holder has begun may still go on elsewhere. */
  by: ProcessIdentity | null;
  /** When it was taken or renewed, milliseconds since the epoch. */
  from: number;
  /** When it ends, even if its process lives, milliseconds since the epoch. */
  until: number;
}

/** The longest lease, milliseconds. */
const MAX_LEASE_MS = 24 * 3_600_000;

/** How far two clocks may be apart, milliseconds. */
const MAX_SKEW_MS = 60_000;

/**
 * Whether others must respect a lease: until its time is up, or its process is known to be dead. One that ends in more
 * than a day is not ours, or was taken before a clock was set back.
 */
export function isHeld(lease: Lease | null, processes: Processes, nowMs: number): lease is Lease {
  if (lease === null || !(nowMs < lease.until && lease.until <= nowMs + MAX_LEASE_MS + MAX_SKEW_MS))
    return false;
  return lease.by === null || processes.isAlive(lease.by) !== false;
}

/** A lease that begins now. @param forMs at most a day; may be Infinity */
export function newLease(by: Lease["by"], forMs: number, nowMs: number): Lease {
  return { by, from: nowMs, until: nowMs + Math.min(forMs, MAX_LEASE_MS) };
}

/** The lease that a file's text records; null if it records none. */
export function leaseIn(text: string): Lease | null {
  const { by, from, until } = fieldsOf(jsonOrNull(text));
  if (typeof from !== "number" || typeof until !== "number") return null;
  const holder = by === null ? null : identityIn(by);
  return by !== null && holder === null ? null : { by: holder, from, until };
}
