import { readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DiskFile } from "../lib/disk-file.ts";
import { isFolder, removeIfPossible, removeIfPresent } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";
import { publishOnce, readPublished } from "../lib/publish.ts";
import { randomDigits } from "../lib/random-digits.ts";

/** Who holds the thing, or the claim that makes it ours. */
export type ClaimResult = { held: true; by: ProcessIdentity } | { held: false; claim: Claim };

export interface Claim {
  release(): Promise<void>;
}

/**
 * Takes over a thing (a task, the settings) whose owner is gone, or that had none. Claims are numbered files, each
 * created exclusively: of two processes that both find the last owner dead, only one can create the next number.
 */
export async function takeClaim(
  folder: string,
  id: string,
  firstOwner: ProcessIdentity | null,
  processes: Processes,
): Promise<ClaimResult> {
  if (isAtWork(firstOwner, processes)) return { held: true, by: firstOwner };
  for (let generation = 1; ; generation++) {
    const file = path.join(folder, `${id}.claim-${generation}`);
    if (await createClaim(file, processes.self)) {
      return { held: false, claim: { release: () => letGo(folder, id, file) } };
    }
    const owner = await holderOf(file, processes);
    // Let go in this very moment: the number is free again, and passing it by would make two holders.
    if (owner === "gone") generation -= 1;
    else if (owner) return { held: true, by: owner };
  }
}

/**
 * Whose a claim is; null where whoever made it died without letting it go. A process may let go and end between the
 * moment its claim is read and the moment it is found dead, and the number be another's by then: so only a claim that
 * still names it after that was never let go of.
 */
async function holderOf(file: string, processes: Processes): Promise<ProcessIdentity | "gone" | null> {
  const owner = await readOwner(file);
  if (owner === "gone" || (owner && processes.isAlive(owner))) return owner;
  return isDeepStrictEqual(await readOwner(file), owner) ? null : "gone";
}

/** Whether the first owner of a thing is alive, so that nobody may claim it. */
export function isAtWork(
  firstOwner: ProcessIdentity | null,
  processes: Processes,
): firstOwner is ProcessIdentity {
  return firstOwner !== null && processes.isAlive(firstOwner);
}

/**
 * Gives a claim up. While it stands nobody passes it by, so all others are of the dead; they go first, for
 * whoever finds their numbers free finds the thing let go of.
 */
async function letGo(folder: string, id: string, own: string): Promise<void> {
  const claims = readdirSync(folder).filter((name) => isClaimOn(id, name));
  for (const name of claims) if (path.join(folder, name) !== own) removeIfPresent(path.join(folder, name));
  removeIfPresent(own);
}

/**
 * Removes what killed processes left behind: drafts, and claims on what is not there any more.
 * @param isTask whether there is a task of this id: a claim on one is for whoever claims it next to remove
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
    if ((await holderOf(file, processes)) === null) removeIfPresent(file);
  }
}

/** Removes what is left of a finished task's claims. */
export async function removeClaims(folder: string, id: string): Promise<void> {
  const names = readdirSync(folder);
  const claims = names.filter((name) => name.startsWith(`${id}.claim-`));
  for (const name of claims) removeIfPresent(path.join(folder, name));
}

/** Whether anybody has claimed a thing since its first owner had it. */
export function hasClaims(folder: string, id: string): boolean {
  return readdirSync(folder).some((name) => isClaimOn(id, name));
}

function isClaimOn(id: string, name: string): boolean {
  const mark = `${id}.claim-`;
  return name.startsWith(mark) && /^\d+$/.test(name.slice(mark.length));
}

/** A claim appears under its name with its owner in it, or not at all. */
async function createClaim(file: string, self: ProcessIdentity): Promise<boolean> {
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
    // Swept away before its owner stood in it: then another one is made.
    if (errorCode(error) !== "ENOENT" || !isFolder(path.dirname(file))) throw error;
    return createClaim(file, self);
  } finally {
    removeIfPossible(draft);
  }
}

/** The owner written in a claim; null where nobody can be made out. */
async function readOwner(file: string): Promise<ProcessIdentity | "gone" | null> {
  try {
    const text = await readPublished(file, (whole) => parsed(whole) !== null);
    return parsed(text);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "gone";
    throw error;
  }
}

function parsed(text: string): ProcessIdentity | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
