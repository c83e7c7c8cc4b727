import { fieldsOf, jsonOrNull } from "./json.ts";
import { type Processes, type ProcessIdentity, parseIdentity } from "./processes.ts";

export interface Lease {
  /** Null if the resource is blocked for all processes, because the work of an earlier process might still run. */
  by: ProcessIdentity | null;
  /** Time of the last renewal, in milliseconds since the epoch. */
  from: number;
  /** Expiry in milliseconds since the epoch. The lease expires even if the process is alive. */
  until: number;
}

const MAX_LEASE_MS = 24 * 3_600_000;

const MAX_SKEW_MS = 60_000;

/**
 * Whether a lease has not expired, and its process is or might be alive. A lease that ends in more than a day is
 * invalid, because the clock was set back or another program wrote the file.
 */
export function isHeld(lease: Lease | null, processes: Processes, nowMs: number): lease is Lease {
  if (lease === null || !(nowMs < lease.until && lease.until <= nowMs + MAX_LEASE_MS + MAX_SKEW_MS))
    return false;
  return lease.by === null || processes.isAlive(lease.by) !== false;
}

/** @param durationMs reduced to a day if longer; `Infinity` is allowed */
export function newLease(by: Lease["by"], durationMs: number, nowMs: number): Lease {
  return { by, from: nowMs, until: nowMs + Math.min(durationMs, MAX_LEASE_MS) };
}

export function parseLease(text: string): Lease | null {
  const { by, from, until } = fieldsOf(jsonOrNull(text));
  if (typeof from !== "number" || typeof until !== "number") return null;
  const holder = by === null ? null : parseIdentity(by);
  return by !== null && holder === null ? null : { by: holder, from, until };
}
