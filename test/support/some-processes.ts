import type { Processes, ProcessIdentity } from "../../src/lib/processes.ts";

/** Simulated processes: those named are alive, and a test can act as any of them. */
export interface SomeProcesses {
  as(pid: number): Processes;
  die(pid: number): void;
}

export function someProcesses(...alive: number[]): SomeProcesses {
  const living = new Set(alive);
  return {
    as: (pid) => ({
      self: identity(pid),
      isAlive: (other) => (other.scope === "here" ? living.has(other.pid) : null),
    }),
    die: (pid) => void living.delete(pid),
  };
}

/** @param scope its machine or container: a process that has another one cannot be asked */
export function identity(pid: number, scope = "here"): ProcessIdentity {
  return { pid, host: scope, scope, started: "1" };
}
