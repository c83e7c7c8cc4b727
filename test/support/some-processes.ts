import type { Processes, ProcessIdentity } from "../../src/lib/processes.ts";

/** A world of processes in a test: those named alive are, and each can be the one that asks. */
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
