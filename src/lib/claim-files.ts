import { readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DiskFile } from "./disk-file.ts";
import { removeIfPossible, removeIfPresent } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { jsonOrNull } from "./json.ts";
import { isHeld, type Lease, leaseIn } from "./lease.ts";
import type { Processes } from "./processes.ts";
import { publishOnce, readPublished } from "./publish.ts";
import { isFolder } from "./read-file.ts";
import { randomDigits } from "./write-whole.ts";

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
): Promise<Lease | "gone" | null> {
  const owner = await readOwner(file);
  if (owner === "gone" || isHeld(owner, processes, now())) return owner;
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
export async function leaseOn(folder: string, id: string, processes: Processes): Promise<Lease | null> {
  const reading = { processes, now: Date.now };
  const owners = await Promise.all(claimsOn(folder, id).map((file) => livingOwnerOf(file, reading)));
  return owners.find((owner): owner is Lease => owner !== null && owner !== "gone") ?? null;
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
export async function createClaim(file: string, lease: Lease): Promise<boolean> {
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
export async function readOwner(file: string): Promise<Lease | "gone" | null> {
  try {
    return leaseIn(await readPublished(file, (whole) => jsonOrNull(whole) !== null));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "gone";
    throw error;
  }
}
