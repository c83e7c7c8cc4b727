import { createHash } from "node:crypto";
import { promises, readdirSync } from "node:fs";
import path from "node:path";
import { removeIfPossible } from "./durable.ts";
import type { Processes, ProcessIdentity } from "./processes.ts";
import { randomDigits } from "./random-digits.ts";

/** Nothing that is downloaded takes nearly as long. */
const ABANDONED_AFTER_MS = 24 * 3600 * 1000;

const OWNER = /^([0-9a-f]{8})-(\d+)-(\w*)-[0-9a-f]{8}$/;

/** What the names of temporary files of one kind begin and end with. */
export interface OwnedKind {
  /** With the dot or hyphen that it ends in. */
  prefix: string;
  /** With its dot. */
  extension: string;
}

/**
 * A temporary file's name that nobody else uses and that says whose it is: the machine, the process, and when that
 * started. The folder may be shared with other machines, and only a process of the same one can tell that the owner
 * is gone.
 */
export function ownedName({ prefix, extension }: OwnedKind, self: ProcessIdentity): string {
  return `${prefix}${machineOf(self)}-${self.pid}-${self.started}-${randomDigits()}${extension}`;
}

/**
 * Removes temporary files of a kind whose owner is certainly gone: a process of this machine that has ended, or
 * any whose file has not been written to for a day. @param nowMs by the clock of the folder's file system
 */
export async function removeAbandoned(
  folder: string,
  { prefix, extension }: OwnedKind,
  processes: Processes,
  nowMs: number,
): Promise<void> {
  for (const name of namesIn(folder)) {
    if (!name.startsWith(prefix) || !name.endsWith(extension)) continue;
    const file = path.join(folder, name);
    const owner = ownerOf(name.slice(prefix.length, -extension.length), processes.self);
    const isGone = owner === null ? await isOld(file, nowMs) : !processes.isAlive(owner);
    if (isGone) removeIfPossible(file);
  }
}

/** Read at once: each submit begins with it, and Node takes a millisecond to load what reads in the background. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Whose a file is by its name; null where it is another machine's, or its name does not say. */
function ownerOf(text: string, self: ProcessIdentity): ProcessIdentity | null {
  const [, machine, pid, started] = OWNER.exec(text) ?? [];
  if (machine !== machineOf(self) || started === undefined) return null;
  return { ...self, pid: Number(pid), started };
}

async function isOld(file: string, nowMs: number): Promise<boolean> {
  const written = await promises.stat(file).catch(() => null);
  return written !== null && nowMs - written.mtimeMs > ABANDONED_AFTER_MS;
}

/**
 * What process numbers count in. Not the boot: where it is known only by the clock, two processes may disagree on it,
 * and a process of an earlier boot has ended in any case.
 */
function machineOf({ host, pidNamespace = "" }: ProcessIdentity): string {
  return createHash("sha256").update(`${host}\0${pidNamespace}`).digest("hex").slice(0, 8);
}
