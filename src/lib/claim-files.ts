import { readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isoTime } from "./clock.ts";
import { DiskFile } from "./disk-file.ts";
import { removeIfPossible, removeIfPresent } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { isJsonObject, jsonOrNull } from "./json.ts";
import { identityIn, isInSameScope, type Processes, type ProcessIdentity } from "./processes.ts";
import { publishOnce, readPublished } from "./publish.ts";
import { isFolder } from "./read-file.ts";
import { randomDigits } from "./write-whole.ts";

/**
 * The right of a process to something that others want too (a task, a name, a turn), as a file records it. `by: null` is
 * a lease without a process: it keeps the thing from everybody until its time is up.
 */
export type OwnerLease = (ProcessIdentity | { by: null }) & {
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
export function isOwnerHeld(lease: OwnerLease | null, processes: Processes, nowMs: number): boolean {
  if (lease === null || !isWithinItsTime(lease, nowMs)) return false;
  if (!("by" in lease) && isInSameScope(lease, processes.self)) return processes.isAlive(lease) === true;
  const { until = lease.elsewhereUntil } = lease;
  return until !== undefined && isWithinItsTime({ by: null, until }, nowMs);
}

/** Whether the times of a lease are plausible, and its end has not come, whoever has it. */
export function isWithinItsTime({ at, until }: OwnerLease, nowMs: number): boolean {
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

/** The lease that a claim's text records; null if it records none. */
function ownerLeaseIn(text: string): OwnerLease | null {
  const json = jsonOrNull(text);
  if (!isJsonObject(json)) return null;
  const { by, at, until, elsewhereUntil } = json;
  const isTimed = [at, until, elsewhereUntil].every((time) => time === undefined || typeof time === "string");
  if (!isTimed) return null;
  if (by === null) return json as unknown as OwnerLease;
  const owner = identityIn(json);
  return owner && ({ ...json, ...owner } as OwnerLease);
}

/** What claims are read with. */
export interface Reading {
  processes: Processes;
  now: () => number;
}

/**
 * The owner of a claim; null if it died without releasing the claim. A process may release its claim and end between the
 * moment the claim is read and the moment the process is found dead, and another process may have its id by then. So the
 * claim is read again: it was never released only if it still names the dead process.
 */
export async function livingOwnerOf(
  file: string,
  { processes, now }: Reading,
): Promise<OwnerLease | "gone" | null> {
  const owner = await readOwner(file);
  if (owner === "gone" || isOwnerHeld(owner, processes, now())) return owner;
  return isDeepStrictEqual(await readOwner(file), owner) ? null : "gone";
}

/**
 * Removes what killed processes left behind: drafts, and claims on tasks that no longer exist. A file that cannot be
 * read or removed is left in place: no other process needs it.
 * @param isTask whether there is a task with this id: a claim on it is removed by the next process that claims it
 */
export async function sweepLeases(
  folder: string,
  names: readonly string[],
  isTask: (id: string) => Promise<boolean>,
  processes: Processes,
  now: () => number = Date.now,
): Promise<void> {
  for (const name of names) {
    const [, id, draft] = /^(.+)\.claim-\d+(\.\w+)?$/.exec(name) ?? [];
    if (id === undefined || (draft === undefined && (await isTask(id)))) continue;
    const file = path.join(folder, name);
    const owner = await livingOwnerOf(file, { processes, now }).catch(() => "unknown");
    if (owner === null) removeIfPossible(file);
  }
}

/** Removes what is left of a finished task's claims. */
export async function removeLeases(folder: string, id: string): Promise<void> {
  for (const file of claimFilesOf(folder, id)) removeIfPresent(file);
}

/** The claim that a living process has on a resource; null if none has one. */
export async function leaseOn(folder: string, id: string, processes: Processes): Promise<OwnerLease | null> {
  const reading = { processes, now: Date.now };
  const owners = await Promise.all(claimsOn(folder, id).map((file) => livingOwnerOf(file, reading)));
  return owners.find((owner): owner is OwnerLease => owner !== null && owner !== "gone") ?? null;
}

/** Whether a resource was claimed after its first owner. */
export function hasClaims(folder: string, id: string): boolean {
  return claimsOn(folder, id).length > 0;
}

/** The files of all claims on a resource. */
export function claimsOn(folder: string, id: string): string[] {
  return claimFilesOf(folder, id).filter((file) => /\.claim-\d+$/.test(file));
}

/** The files of all claims on a resource, drafts included. */
function claimFilesOf(folder: string, id: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${id}.claim-`))
    .map((name) => path.join(folder, name));
}

/** Creates a claim with its owner in it, or none at all. */
export async function createClaim(file: string, lease: OwnerLease): Promise<boolean> {
  const draft = `${file}.${randomDigits()}`;
  try {
    const written = DiskFile.createExclusive(draft, 0o600);
    try {
      written.write(Buffer.from(JSON.stringify(lease)));
    } finally {
      written.close();
    }
    return (await publishOnce(draft, file)) !== "exists";
  } catch (error) {
    // It was removed as a leftover before its owner was written into it: create another one.
    if (errorCode(error) !== "ENOENT" || !isFolder(path.dirname(file))) throw error;
    return createClaim(file, lease);
  } finally {
    removeIfPossible(draft);
  }
}

/** The lease written in a claim; null if it cannot be read. */
export async function readOwner(file: string): Promise<OwnerLease | "gone" | null> {
  try {
    return ownerLeaseIn(await readPublished(file, (whole) => jsonOrNull(whole) !== null));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "gone";
    throw error;
  }
}
