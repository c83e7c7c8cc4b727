import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "./error-code.ts";

/** A process, named so that its number's next owner is not taken for it. */
export interface ProcessIdentity {
  pid: number;
  host: string;
  /** When it started, in the kernel's own count; empty where the platform does not tell. */
  started: string;
}

/** Who is at work on this machine: declared as a capability so that a test can be two processes. */
export interface Processes {
  readonly self: ProcessIdentity;
  isAlive(other: ProcessIdentity): boolean;
}

export function systemProcesses(): Processes {
  const self = { pid: process.pid, host: hostname(), started: startOf(process.pid) };
  return { self, isAlive: (other) => isAlive(other, self.host) };
}

/**
 * A process of another host (or container) counts as gone: it cannot be asked, and a task that is finished
 * twice costs nothing but a second look, while one that waits for a dead owner is never finished.
 */
function isAlive(other: ProcessIdentity, host: string): boolean {
  if (other.host !== host) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if (errorCode(error) !== "EPERM") return false;
  }
  return other.started === startOf(other.pid);
}

/** Field 22 of /proc/<pid>/stat; the second field may hold blanks and brackets, so count from its end. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
