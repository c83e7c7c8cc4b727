import { isoTime } from "./clock.ts";
import { isJsonObject, jsonOrNull } from "./json.ts";
import { isSameMachine, type Processes, type ProcessIdentity } from "./processes.ts";

/**
 * The right of a process to something that others want too (a task, a name, a turn), as a file records it. `by: null` is
 * a lease without a process: it keeps the thing from everybody until its time is up.
 */
export type Lease = (ProcessIdentity | { by: null }) & {
  /** When it was taken, ISO 8601. */
  at?: string;
  /** When it ends, ISO 8601, even if its process lives. Absent: with its process. */
  until?: string;
  /** Until when other machines respect one that ends with its process, ISO 8601. */
  elsewhereUntil?: string;
};

/** How far two clocks may be apart. A lease that was taken later than this was taken before a clock was set back. */
const SKEW_MS = 60_000;

/** The longest lease. One that is longer is not ours, or was taken before a clock was set back. */
const LONGEST_MS = 24 * 3_600_000;

/**
 * Whether others must respect a lease: the only rule for that.
 * - A lease that is damaged, or whose times are not plausible, holds nobody.
 * - Its end ends it, even if its process lives: it may be stopped, and a terminated worker leaves its process alive.
 * - On this machine it ends with its process. Another machine cannot ask for the process, and goes by the lease's time.
 * @param lease null: it is damaged, or there is none
 */
export function isHeld(lease: Lease | null, processes: Processes, nowMs: number): boolean {
  if (lease === null || !isWithinItsTime(lease, nowMs)) return false;
  if (!("by" in lease) && isSameMachine(lease, processes.self)) return processes.isAlive(lease);
  const { until = lease.elsewhereUntil } = lease;
  return until !== undefined && isWithinItsTime({ by: null, until }, nowMs);
}

/** Whether the times of a lease are plausible, and its end has not come, whoever has it. */
export function isWithinItsTime({ at, until }: Lease, nowMs: number): boolean {
  // Written so that a time that is none fails each comparison.
  if (at !== undefined && !(Date.parse(at) <= nowMs + SKEW_MS)) return false;
  if (until === undefined) return true;
  const leftMs = Date.parse(until) - nowMs;
  return leftMs > 0 && leftMs <= LONGEST_MS + SKEW_MS;
}

/** The end of a lease that is taken now, at most a day from now. @param forMs milliseconds; may be Infinity */
export function leaseEnd(forMs: number, nowMs: number): string {
  return isoTime(nowMs + Math.min(forMs, LONGEST_MS));
}

/** The lease that a file's text records; null if it records none. */
export function leaseIn(text: string): Lease | null {
  const json = jsonOrNull(text);
  return isLease(json) ? json : null;
}

function isLease(json: unknown): json is Lease {
  if (!isJsonObject(json)) return false;
  const { by, pid, host, started, at, until, elsewhereUntil } = json;
  const isTimed = [at, until, elsewhereUntil].every((time) => time === undefined || typeof time === "string");
  const isProcess = typeof pid === "number" && typeof host === "string" && typeof started === "string";
  return isTimed && (by === null || isProcess);
}
