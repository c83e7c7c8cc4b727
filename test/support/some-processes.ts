import { readFileSync } from "node:fs";
import type { Processes, ProcessIdentity } from "../../src/lib/processes.ts";

/** Simulated processes: those named are alive, and a test can act as any of them. */
export function someProcesses(...alive: number[]) {
  const living = new Set(alive);
  return {
    as: (pid: number): Processes => ({
      self: identity(pid),
      isAlive: (other) => (other.scope === "here" ? living.has(other.pid) : null),
    }),
    die: (pid: number) => void living.delete(pid),
  };
}

/** @param scope its machine or container: a process that has another one cannot be asked */
export function identity(pid: number, scope = "here"): ProcessIdentity {
  return { pid, host: scope, scope, started: "1" };
}

/** Whether a process is there, and no zombie. False where the system does not say (no `/proc`). */
export function isRunning(pid: number | string | undefined): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
