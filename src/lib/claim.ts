import { readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isoTime } from "./clock.ts";
import { DiskFile } from "./disk-file.ts";
import { isPresent, removeIfPossible, removeIfPresent } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { jsonOrNull } from "./json.ts";
import { isSameMachine, type Processes, type ProcessIdentity } from "./processes.ts";
import { publishOnce, readPublished } from "./publish.ts";
import { isFolder } from "./read-file.ts";
import { randomDigits } from "./write-whole.ts";

/** The process that has the resource, or the claim that this process now has on it. */
export type ClaimResult = { isTaken: true; by: ClaimOwner } | { isTaken: false; claim: Claim };

export interface Claim {
  /**
   * Whether nobody else has had a claim since: a process of another machine may take one once this claim's time is up,
   * and any process where a dead one's was swept away at just that moment.
   */
  isKept(): Promise<boolean>;
  release(): Promise<void>;
}

interface ClaimOwner extends ProcessIdentity {
  /** The time until which other machines respect the claim: they cannot check whether the owner is alive. Absent: not at all. */
  until?: string;
}

/**
 * Takes over a resource (a task, the settings) whose owner is gone, or that had none. Claims are numbered files, each
 * created exclusively: of two processes that both find the last owner dead, only one can create the next number.
 * @param forMs for how long other machines respect the claim, milliseconds. Default: not at all
 */
export async function takeClaim(
  folder: string,
  id: string,
  firstOwner: ProcessIdentity | null,
  processes: Processes,
  forMs?: number,
): Promise<ClaimResult> {
  if (isAtWork(firstOwner, processes)) return { isTaken: true, by: firstOwner };
  for (let generation = 1; ; generation++) {
    const file = path.join(folder, `${id}.claim-${generation}`);
    const until = forMs === undefined ? {} : { until: isoTime(Date.now() + forMs) };
    if (await createClaim(file, { ...processes.self, ...until })) {
      const isKept = () => isOnlyClaim(folder, id, file, processes);
      return { isTaken: false, claim: { isKept, release: () => releaseClaim(folder, id, file) } };
    }
    const owner = await livingOwnerOf(file, processes);
    // Released a moment ago: the number is free again, and skipping it could give it two owners.
    if (owner === "gone") generation -= 1;
    else if (owner) return { isTaken: true, by: owner };
  }
}

/** How long a claim that processes have in turn is respected by other machines: much longer than it is needed. */
const TURN_MS = 10_000;

/** How long to wait for a claim, milliseconds, and what ends the wait earlier. */
export interface ClaimLimits {
  mostMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Claims a resource that processes have in turn, each for a short time. It has no owner beside its claims.
 * @throws Error that names the process that still has it after `mostMs`; or the signal's reason
 */
export async function claimInTurn(
  folder: string,
  id: string,
  processes: Processes,
  { mostMs, signal }: ClaimLimits,
): Promise<Claim> {
  for (const end = performance.now() + mostMs; ; ) {
    signal?.throwIfAborted();
    const turn = await takeClaim(folder, id, null, processes, TURN_MS);
    if (!turn.isTaken) return turn.claim;
    if (performance.now() > end) throw new Error(`process ${turn.by.pid} is using it`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * The owner of a claim; null if it died without releasing the claim. A process may release its claim and end between the
 * moment the claim is read and the moment the process is found dead, and another process may have its id by then. So the
 * claim is read again: it was never released only if it still names the dead process.
 */
async function livingOwnerOf(file: string, processes: Processes): Promise<ClaimOwner | "gone" | null> {
  const owner = await readOwner(file);
  if (owner === "gone" || (owner && mayBeAlive(owner, processes))) return owner;
  return isDeepStrictEqual(await readOwner(file), owner) ? null : "gone";
}

function mayBeAlive(owner: ClaimOwner, { self, isAlive }: Processes): boolean {
  return isAlive(owner) || (!isSameMachine(owner, self) && Date.now() < Date.parse(owner.until ?? ""));
}

/** Whether the first owner of a resource is alive, so that it must not be claimed. */
export function isAtWork(
  firstOwner: ProcessIdentity | null,
  processes: Processes,
): firstOwner is ProcessIdentity {
  return firstOwner !== null && processes.isAlive(firstOwner);
}

async function isOnlyClaim(folder: string, id: string, own: string, processes: Processes): Promise<boolean> {
  const others = claimsOn(folder, id).filter((file) => file !== own);
  const owners = await Promise.all(others.map((file) => livingOwnerOf(file, processes)));
  // Whoever releases a claim removes all others first.
  return isPresent(own) && owners.every((owner) => owner === null);
}

/**
 * Releases a claim. While it exists no other process can claim the resource, so all other claims are of dead processes.
 * They are removed first: a process that finds their numbers free takes the resource as released.
 */
async function releaseClaim(folder: string, id: string, own: string): Promise<void> {
  for (const file of claimsOn(folder, id)) if (file !== own) removeIfPresent(file);
  removeIfPresent(own);
}

/**
 * Removes what killed processes left behind: drafts, and claims on tasks that no longer exist. A file that cannot be
 * read or removed is left in place: no other process needs it.
 * @param isTask whether there is a task with this id: a claim on it is removed by the next process that claims it
 */
export async function sweepClaims(
  folder: string,
  names: readonly string[],
  isTask: (id: string) => Promise<boolean>,
  processes: Processes,
): Promise<void> {
  for (const name of names) {
    const [, id, draft] = /^(.+)\.claim-\d+(\.\w+)?$/.exec(name) ?? [];
    if (id === undefined || (draft === undefined && (await isTask(id)))) continue;
    const file = path.join(folder, name);
    const owner = await livingOwnerOf(file, processes).catch(() => "unknown");
    if (owner === null) removeIfPossible(file);
  }
}

/** Removes what is left of a finished task's claims. */
export async function removeClaims(folder: string, id: string): Promise<void> {
  for (const file of claimFilesOf(folder, id)) removeIfPresent(file);
}

/** Whether a living process has a claim on a resource. */
export async function isClaimed(folder: string, id: string, processes: Processes): Promise<boolean> {
  const owners = await Promise.all(claimsOn(folder, id).map((file) => livingOwnerOf(file, processes)));
  return owners.some((owner) => owner !== null && owner !== "gone");
}

/** Whether a resource was claimed after its first owner. */
export function hasClaims(folder: string, id: string): boolean {
  return claimsOn(folder, id).length > 0;
}

/** The files of all claims on a resource. */
function claimsOn(folder: string, id: string): string[] {
  return claimFilesOf(folder, id).filter((file) => /\.claim-\d+$/.test(file));
}

/** The files of all claims on a resource, drafts included. */
function claimFilesOf(folder: string, id: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${id}.claim-`))
    .map((name) => path.join(folder, name));
}

/** Creates a claim with its owner in it, or none at all. */
async function createClaim(file: string, self: ClaimOwner): Promise<boolean> {
  const draft = `${file}.${randomDigits()}`;
  try {
    const written = DiskFile.createExclusive(draft, 0o600);
    try {
      written.write(Buffer.from(JSON.stringify(self)));
    } finally {
      written.close();
    }
    return (await publishOnce(draft, file)) !== "exists";
  } catch (error) {
    // It was removed as a leftover before its owner was written into it: create another one.
    if (errorCode(error) !== "ENOENT" || !isFolder(path.dirname(file))) throw error;
    return createClaim(file, self);
  } finally {
    removeIfPossible(draft);
  }
}

/** The owner written in a claim; null if it cannot be read. */
async function readOwner(file: string): Promise<ClaimOwner | "gone" | null> {
  try {
    const text = await readPublished(file, (whole) => parsed(whole) !== null);
    return parsed(text);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "gone";
    throw error;
  }
}

function parsed(text: string): ClaimOwner | null {
  return jsonOrNull(text) as ClaimOwner | null;
}
