import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";

/** Identifies a process for good: neither a later process with the same id nor one on another machine is the same. */
export interface ProcessIdentity {
  pid: number;
  host: string;
  /** When it started, as the kernel counts; empty if the platform does not say. */
  started: string;
  /**
   * The boot that it belongs to: the kernel's boot id, or `time:` and the time of the boot in milliseconds since the
   * epoch. Absent in records of earlier releases.
   */
  boot?: string;
  /** The namespace of its process id: on Linux a container has its own. Absent elsewhere. */
  pidNamespace?: string;
  /** The id of its thread, where that is not the main one: a worker may be terminated while its process lives. */
  thread?: number;
}

/** Which processes are alive: a capability, so that one test can act as two processes. */
export interface Processes {
  readonly self: ProcessIdentity;
  isAlive(other: ProcessIdentity): boolean;
}

/** @param proc where the kernel describes processes; does not exist on macOS and Windows */
export function systemProcesses(proc = "/proc"): Processes {
  let identity: ProcessIdentity | undefined;
  // It takes some reads, which most commands do without.
  const self = () => {
    identity ??= identify(proc);
    return identity;
  };
  return {
    get self() {
      return self();
    },
    isAlive: (other) => isAlive(other, self(), proc),
  };
}

/**
 * Identifies a process of this machine, such as one that this process has started; null if it has ended, or the platform
 * cannot tell it from a later one with the same id.
 */
export function identityOf(pid: number, proc = "/proc"): ProcessIdentity | null {
  const started = startOf(readStat(proc, pid));
  const { thread: _thread, ...identity } = identify(proc);
  return started === "" ? null : { ...identity, pid, started };
}

/** Signals every process of a group, whose id is that of the process that leads it. One that is gone is no error. */
export function signalGroup(id: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-id, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

const BEFORE_EXIT = new Set<() => void>();

function callAll(): void {
  for (const call of BEFORE_EXIT) call();
}

/** The id of the user whose rights this process has, 0 for root; undefined on Windows. */
export function userId(): number | undefined {
  return process.geteuid?.();
}

/** Calls a function at the last moment before this process ends, unless a signal ends it. @returns takes that back */
export function beforeExit(call: () => void): () => void {
  if (BEFORE_EXIT.size === 0) process.on("exit", callAll);
  BEFORE_EXIT.add(call);
  return () => {
    if (BEFORE_EXIT.delete(call) && BEFORE_EXIT.size === 0) process.removeListener("exit", callAll);
  };
}

/**
 * Whether two processes are on one machine, so that one can check whether the other is alive: the same host, boot and
 * process id namespace. For records of earlier releases the host alone decides.
 */
export function isSameMachine(a: ProcessIdentity, b: ProcessIdentity): boolean {
  if (a.host !== b.host) return false;
  if (a.boot === undefined || b.boot === undefined) return true;
  return isSameBoot(a.boot, b.boot) && a.pidNamespace === b.pidNamespace;
}

/**
 * A process on another machine counts as gone: it cannot be checked. A task that is finished twice costs nothing but a
 * second poll, while one that waits for a dead owner is never finished.
 */
function isAlive(other: ProcessIdentity, self: ProcessIdentity, proc: string): boolean {
  // Zero and numbers below it name groups of processes.
  if (!isSameMachine(other, self) || !(other.pid > 0)) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if (errorCode(error) !== "EPERM") return false;
  }
  // Without start times, the same boot has to be enough.
  if (self.started === "") return true;
  const stat = readStat(proc, other.pid);
  return !hasEnded(stat) && other.started === startOf(stat);
}

function identify(proc: string): ProcessIdentity {
  const stat = readStat(proc, "self");
  const bootId = textOf(path.join(proc, "sys/kernel/random/boot_id")).trim();
  const pidNamespace = namespace(proc);
  const thread = threadId();
  return {
    pid: process.pid,
    host: hostname(),
    // A /proc that was mounted for another namespace describes other processes under the same ids.
    started: stat.startsWith(`${process.pid} `) ? startOf(stat) : "",
    boot: bootId || `${BOOT_TIME}${Math.round(Date.now() - uptime() * 1000)}`,
    ...(pidNamespace !== null && { pidNamespace }),
    ...(thread !== 0 && { thread }),
  };
}

/** 0 for the main thread. The module is not imported, because most commands do without it. */
function threadId(): number {
  return process.getBuiltinModule("node:worker_threads").threadId;
}

function namespace(proc: string): string | null {
  try {
    return readlinkSync(path.join(proc, "self/ns/pid"));
  } catch {
    return null;
  }
}

const BOOT_TIME = "time:";

/** No machine boots twice within this time, and clocks are rarely corrected by more. */
const SAME_BOOT_MS = 60_000;

/** Boot times are computed from the wall clock, which is corrected now and then; boot ids are exact. */
function isSameBoot(a: string, b: string): boolean {
  if (!a.startsWith(BOOT_TIME) || !b.startsWith(BOOT_TIME)) return a === b;
  return Math.abs(Number(a.slice(BOOT_TIME.length)) - Number(b.slice(BOOT_TIME.length))) < SAME_BOOT_MS;
}

function readStat(proc: string, pid: number | "self"): string {
  return textOf(path.join(proc, String(pid), "stat"));
}

/** Empty for a file that is not there, or cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/**
 * Whether a process has ended but keeps its id because its parent has not waited for it yet (a zombie). In a container
 * whose first process never waits, it keeps the id for good.
 */
function hasEnded(stat: string): boolean {
  return ["Z", "X"].includes(fieldsOf(stat)[0] ?? "");
}

/** Field 22 of /proc/<pid>/stat. */
function startOf(stat: string): string {
  return fieldsOf(stat)[19] ?? "";
}

/** The fields of /proc/<pid>/stat from the third on: the second may contain spaces and brackets, so count from its end. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
