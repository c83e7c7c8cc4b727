import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";
import { fieldsOf } from "./json.ts";

/** Identifies a process for good: neither a later process with the same id nor one on another machine is the same. */
export interface ProcessIdentity {
  pid: number;
  /** The name of its machine or container, for people. */
  host: string;
  /**
   * The scope in which its id is unique: the kernel's boot id, and the namespace of process ids, because a container has
   * its own. Without a boot id: the host, and `time:` with the time of the boot in milliseconds since the epoch. Only
   * records of earlier releases have the host alone.
   */
  scope: string;
  /** When it started, as the kernel counts; empty if the platform does not say. */
  started: string;
}

/** Which processes are alive: a capability, so that one test can act as two processes. */
export interface Processes {
  readonly self: ProcessIdentity;
  /** Whether a process is alive; null if it cannot be asked from here: it is on another machine or in another container. */
  isAlive(other: ProcessIdentity): boolean | null;
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
  return started === "" ? null : { ...identify(proc), pid, started };
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

/** Calls what `beforeExit` was given: before this process ends itself with a signal. */
export function callBeforeExit(): void {
  for (const call of BEFORE_EXIT) call();
}

/** The id of the user whose rights this process has, 0 for root; undefined on Windows. */
export function userId(): number | undefined {
  return process.geteuid?.();
}

/** Calls a function at the last moment before this process ends, unless a signal ends it. @returns takes that back */
export function beforeExit(call: () => void): () => void {
  if (BEFORE_EXIT.size === 0) process.on("exit", callBeforeExit);
  BEFORE_EXIT.add(call);
  return () => {
    if (BEFORE_EXIT.delete(call) && BEFORE_EXIT.size === 0) process.removeListener("exit", callBeforeExit);
  };
}

/** The identity that a record names, in the form of earlier releases too; null if it names none. */
export function identityIn(json: unknown): ProcessIdentity | null {
  const { pid, host, started, scope, boot, pidNamespace } = fieldsOf(json);
  if (typeof pid !== "number" || typeof host !== "string" || typeof started !== "string") return null;
  if (typeof scope === "string") return { pid, host, scope, started };
  return { pid, host, scope: typeof boot === "string" ? scopeOf(host, boot, pidNamespace) : host, started };
}

const BOOT_TIME = /\btime:(\d+)/;

/** No machine boots twice within this time, and clocks are rarely corrected by more. */
const SAME_BOOT_MS = 60_000;

/** Whether one process can check whether the other is alive. For records that have only a host, that decides. */
export function isInSameScope(a: ProcessIdentity, b: ProcessIdentity): boolean {
  if (a.scope === a.host || b.scope === b.host) return a.host === b.host;
  const [scope, other] = [a, b].map((each) => each.scope.replace(BOOT_TIME, ""));
  // Boot times are computed from the wall clock, which is corrected now and then; boot ids are exact.
  return scope === other && Math.abs(bootMs(a) - bootMs(b)) < SAME_BOOT_MS;
}

export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started && isInSameScope(a, b);
}

function bootMs({ scope }: ProcessIdentity): number {
  return Number(BOOT_TIME.exec(scope)?.[1] ?? 0);
}

function isAlive(other: ProcessIdentity, self: ProcessIdentity, proc: string): boolean | null {
  if (!isInSameScope(other, self)) return null;
  // Zero and numbers below it name groups of processes.
  if (!(other.pid > 0)) return false;
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
  const host = hostname();
  return {
    pid: process.pid,
    host,
    scope: scopeOf(host, bootId || `time:${Math.round(Date.now() - uptime() * 1000)}`, namespace(proc)),
    // A /proc that was mounted for another namespace describes other processes under the same ids.
    started: stat.startsWith(`${process.pid} `) ? startOf(stat) : "",
  };
}

/** @param boot the kernel's boot id, or the time of the boot */
function scopeOf(host: string, boot: string, pidNamespace: unknown): string {
  const machine = BOOT_TIME.test(boot) ? `${host} ${boot}` : boot;
  return typeof pidNamespace === "string" ? `${machine} ${pidNamespace}` : machine;
}

function namespace(proc: string): string | null {
  try {
    return readlinkSync(path.join(proc, "self/ns/pid"));
  } catch {
    return null;
  }
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
  return ["Z", "X"].includes(statFields(stat)[0] ?? "");
}

/** Field 22 of /proc/<pid>/stat. */
function startOf(stat: string): string {
  return statFields(stat)[19] ?? "";
}

/** The fields of /proc/<pid>/stat from the third on: the second may contain spaces and brackets, so count from its end. */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
