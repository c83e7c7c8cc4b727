import type { Processes, ProcessIdentity } from "../../src/lib/processes.ts";

/** Simulated processes: those named are alive, and a test can act as any of them. */
export interface SomeProcesses {
  as(pid: number): Processes;
  die(pid: number): void;
}

export function someProcesses(...alive: number[]): SomeProcesses {
  const living = new Set(alive);
  return {
    as: (pid) => ({ self: identity(pid), isAlive: (other) => living.has(other.pid) }),
    die: (pid) => void living.delete(pid),
  };
}

export function identity(pid: number): ProcessIdentity {
  return { pid, host: "here", started: "1" };
}
