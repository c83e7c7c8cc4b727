import { createHash } from "node:crypto";
import { promises, readdirSync } from "node:fs";
import path from "node:path";
import { removeIfPossible } from "../../lib/durable.ts";
import type { Processes, ProcessIdentity } from "../../lib/processes.ts";
import { randomDigits } from "../../lib/write-whole.ts";

/** Much longer than any download takes. */
const ABANDONED_AFTER_MS = 24 * 3600 * 1000;

const OWNER = /^([0-9a-f]{8})-(\d+)-(\w*)-[0-9a-f]{8}$/;

/** The prefix and extension of one kind of temporary file. */
export interface OwnedKind {
  /** The beginning of the name, with the dot or hyphen that it ends in. */
  prefix: string;
  /** The extension, with its dot. */
  extension: string;
}

/**
 * A name for a temporary file that no other process uses and that names its owner: the machine, the process, and when
 * that started. The folder may be shared with other machines, and only a process on the same machine can tell whether
 * the owner is gone.
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
  for (const name of readableNames(folder)) {
    if (!name.startsWith(prefix) || !name.endsWith(extension)) continue;
    const file = path.join(folder, name);
    const owner = ownerOf(name.slice(prefix.length, -extension.length), processes.self);
    const isGone = owner === null ? await isOld(file, nowMs) : processes.isAlive(owner) === false;
    if (isGone) removeIfPossible(file);
  }
}

/** Synchronous: every submit starts with it, and Node takes a millisecond to load its asynchronous `readdir`. */
function readableNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The owner in a file's name; null if it is on another machine, or the name does not contain one. */
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
 * The scope in which a process id is unique. The boot is not a part of it: without a boot id it is estimated from the
 * clock, so two processes may disagree on it, and a process from before the boot has ended in any case.
 */
function machineOf({ host, scope }: ProcessIdentity): string {
  const pidNamespace = /pid:\[\d+\]/.exec(scope)?.[0] ?? "";
  return createHash("sha256").update(`${host}\0${pidNamespace}`).digest("hex").slice(0, 8);
}
