import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import path from "node:path";
import { errorCode } from "./error-code.ts";

/** A process, named so that no other is taken for it: not its number's next owner, and none of another machine. */
export interface ProcessIdentity {
  pid: number;
  host: string;
  /** When it started, in the kernel's own count; empty where the platform does not tell. */
  started: string;
  /**
   * Which run of the machine it belongs to: the kernel's boot id, or `time:` and when the machine was started, in
   * milliseconds since the epoch. Absent in what earlier releases wrote.
   */
  boot?: string;
  /** What its number counts in: on Linux a container has a namespace of its own. Absent elsewhere. */
  pidNamespace?: string;
}

/** Who is at work on this machine: declared as a capability so that a test can be two processes. */
export interface Processes {
  readonly self: ProcessIdentity;
  isAlive(other: ProcessIdentity): boolean;
}

/** @param proc where the kernel tells of processes; nothing is there on macOS and Windows */
export function systemProcesses(proc = "/proc"): Processes {
  const self = identify(proc);
  return { self, isAlive: (other) => isAlive(other, self, proc) };
}

/**
 * Whether two processes run side by side, so that one can ask whether the other lives: on the same host, since the
 * same boot, and with numbers that count in the same namespace. Of what earlier releases wrote, the host decides.
 */
export function isSameMachine(a: ProcessIdentity, b: ProcessIdentity): boolean {
  if (a.host !== b.host) return false;
  if (a.boot === undefined || b.boot === undefined) return true;
  return isSameBoot(a.boot, b.boot) && a.pidNamespace === b.pidNamespace;
}

/** Whether two identities are one process's. */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started && isSameMachine(a, b);
}

/**
 * A process of another machine counts as gone: it cannot be asked, and a task that is finished twice costs nothing
 * but a second poll, while one that waits for a dead owner is never finished.
 */
function isAlive(other: ProcessIdentity, self: ProcessIdentity, proc: string): boolean {
  if (!isSameMachine(other, self)) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if (errorCode(error) !== "EPERM") return false;
  }
  // Where start times are not told, that it is the same boot must do.
  if (self.started === "") return true;
  const stat = readStat(proc, other.pid);
  return !hasEnded(stat) && other.started === startOf(stat);
}

function identify(proc: string): ProcessIdentity {
  const stat = readStat(proc, "self");
  const pidNamespace = namespace(proc);
  return {
    pid: process.pid,
    host: hostname(),
    // A /proc that was mounted for another namespace tells of other processes by our numbers.
    started: stat.startsWith(`${process.pid} `) ? startOf(stat) : "",
    boot: bootId(proc) ?? `${BOOT_TIME}${Math.round(Date.now() - uptime() * 1000)}`,
    ...(pidNamespace !== null && { pidNamespace }),
  };
}

function bootId(proc: string): string | null {
  try {
    return readFileSync(path.join(proc, "sys/kernel/random/boot_id"), "utf8").trim();
  } catch {
    return null;
  }
}

function namespace(proc: string): string | null {
  try {
    return readlinkSync(path.join(proc, "self/ns/pid"));
  } catch {
    return null;
  }
}

const BOOT_TIME = "time:";

/** No machine is started twice in so short a time, and no clock is set back or forth by more while it runs, mostly. */
const SAME_BOOT_MS = 60_000;

/** Boot times are reckoned from the wall clock, which is corrected now and then; boot ids are exact. */
function isSameBoot(a: string, b: string): boolean {
  if (!a.startsWith(BOOT_TIME) || !b.startsWith(BOOT_TIME)) return a === b;
  return Math.abs(Number(a.slice(BOOT_TIME.length)) - Number(b.slice(BOOT_TIME.length))) < SAME_BOOT_MS;
}

function readStat(proc: string, pid: number | "self"): string {
  try {
    return readFileSync(path.join(proc, String(pid), "stat"), "utf8");
  } catch {
    return "";
  }
}

/**
 * Whether a process has ended that its parent has not asked about yet (a zombie): it keeps its number. In a container
 * whose first process never asks, it does so for good.
 */
function hasEnded(stat: string): boolean {
  return ["Z", "X"].includes(fieldsOf(stat)[0] ?? "");
}

/** Field 22 of /proc/<pid>/stat. */
function startOf(stat: string): string {
  return fieldsOf(stat)[19] ?? "";
}

/** The fields of /proc/<pid>/stat from the third on: the second may hold blanks and brackets, so count from its end. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
