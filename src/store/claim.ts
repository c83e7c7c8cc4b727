import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { createExclusive, errorCode, removeIfPresent, writeAll } from "../lib/durable.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";

/** Who holds the thing, or the claim that makes it ours. */
export type ClaimResult = { held: true; by: ProcessIdentity } | { held: false; claim: Claim };

export interface Claim {
  release(): Promise<void>;
}

// A claim without a readable owner is one being written this moment, or left by a crash.
const UNREADABLE_IS_STALE_AFTER_MS = 10_000;

/**
 * Takes over a thing (a task, the settings) whose owner is gone, or that had none. Claims are numbered files, each created exclusively: of two
 * processes that both find the last owner dead, only one can create the next number.
 */
export async function takeClaim(
  folder: string,
  id: string,
  firstOwner: ProcessIdentity | null,
  processes: Processes,
): Promise<ClaimResult> {
  if (firstOwner && processes.isAlive(firstOwner)) return { held: true, by: firstOwner };
  for (let generation = 1; ; generation++) {
    const file = path.join(folder, `${id}.claim-${generation}`);
    if (await createClaim(file, processes.self)) {
      return { held: false, claim: { release: () => removeIfPresent(file) } };
    }
    const owner = await readOwner(file);
    // Let go in this very moment: the number is free again, and passing it by would make two holders.
    if (owner === "gone") generation -= 1;
    else if (owner && processes.isAlive(owner)) return { held: true, by: owner };
  }
}

/** Removes what is left of a finished task's claims. */
export async function removeClaims(folder: string, id: string): Promise<void> {
  const names = await readdir(folder);
  const claims = names.filter((name) => name.startsWith(`${id}.claim-`));
  await Promise.all(claims.map((name) => removeIfPresent(path.join(folder, name))));
}

async function createClaim(file: string, self: ProcessIdentity): Promise<boolean> {
  try {
    const handle = await createExclusive(file, 0o600);
    try {
      await writeAll(handle, Buffer.from(JSON.stringify(self)));
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** The owner written in a claim; null where it is stale without one. */
async function readOwner(file: string): Promise<ProcessIdentity | "gone" | null> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "gone";
    if (!(error instanceof SyntaxError)) throw error;
  }
  const written = await stat(file).catch(() => null);
  if (written === null) return "gone";
  if (Date.now() - written.mtimeMs > UNREADABLE_IS_STALE_AFTER_MS) return null;
  await new Promise((resolve) => setTimeout(resolve, 20));
  return readOwner(file);
}
