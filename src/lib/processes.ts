import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";
import { fieldsOf } from "./json.ts";

/** Identifies a process uniquely, across reuse of its id and across machines. */
export interface ProcessIdentity {
  pid: number;
  /** Machine or container, for people. */
  host: string;
  /**
   * The scope in which the process id is unique: the kernel's boot id and the namespace of process ids, because a
   * container has its own. Without a boot id: the host, and `time:` with the boot time in milliseconds since the
   * epoch. Records of earlier releases have only the host.
   */
  scope: string;
  /** Start time in kernel ticks; empty if the platform does not provide it. */
  started: string;
}

/** Injectable, so that one test can act as two processes. */
export interface Processes {
  readonly self: ProcessIdentity;
  /** Whether a process is alive; null if that is not known: on another machine or in another container. */
  isAlive(other: ProcessIdentity): boolean | null;
}

/** @param proc the kernel's process files; missing on macOS and Windows */
export function systemProcesses(proc = "/proc"): Processes {
  let identity: ProcessIdentity | undefined;
  // Lazy: it takes some reads, and most commands do not need it.
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
 * Identifies a process of this machine; null if it has ended, or the platform cannot tell it from a later one with
 * the same id.
 */
export function identifyProcess(pid: number, proc = "/proc"): ProcessIdentity | null {
  const started = startTime(readStat(proc, pid));
  return started === "" ? null : { ...identify(proc), pid, started };
}

/** Signals a process group by its leader's id; a missing group is no error. */
export function signalGroup(id: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-id, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

const BEFORE_EXIT = new Set<() => void>();

/** Runs the callbacks of `beforeExit`, for a process about to end itself with a signal. */
export function callBeforeExit(): void {
  for (const call of BEFORE_EXIT) call();
}

/** The effective user id, 0 for root; undefined on Windows. */
export function userId(): number | undefined {
  return process.geteuid?.();
}

/**
 * Registers a callback for the process's exit, except by a signal.
 * @returns unregisters it
 */
export function beforeExit(call: () => void): () => void {
  if (BEFORE_EXIT.size === 0) process.on("exit", callBeforeExit);
  BEFORE_EXIT.add(call);
  return () => {
    if (BEFORE_EXIT.delete(call) && BEFORE_EXIT.size === 0) process.removeListener("exit", callBeforeExit);
  };
}

/** Parses a recorded identity, also of earlier releases; null if there is none. */
export function parseIdentity(json: unknown): ProcessIdentity | null {
  const { pid, host, started, scope, boot, pidNamespace } = fieldsOf(json);
  if (typeof pid !== "number" || typeof host !== "string" || typeof started !== "string") return null;
  if (typeof scope === "string") return { pid, host, scope, started };
  return {
    pid,
    host,
    scope: typeof boot === "string" ? processScope(host, boot, pidNamespace) : host,
    started,
  };
}

const BOOT_TIME = /\btime:(\d+)/;

/** Tolerance for two boot times: no machine boots twice within it, and clock corrections are rarely larger. */
const SAME_BOOT_MS = 60_000;

/** Whether one process can check that the other is alive. Records without a scope compare by host. */
export function isInSameScope(a: ProcessIdentity, b: ProcessIdentity): boolean {
  if (a.scope === a.host || b.scope === b.host) return a.host === b.host;
  const [scope, other] = [a, b].map((each) => each.scope.replace(BOOT_TIME, ""));
  // Boot times depend on the wall clock, which is corrected now and then; boot ids are exact.
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
  // Zero and negative ids are process groups.
  if (!(other.pid > 0)) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if (errorCode(error) !== "EPERM") return false;
  }
  // Without start times, the same boot must be enough.
  if (self.started === "") return true;
  const stat = readStat(proc, other.pid);
  return !hasEnded(stat) && other.started === startTime(stat);
}

function identify(proc: string): ProcessIdentity {
  const stat = readStat(proc, "self");
  const bootId = readTextOrEmpty(path.join(proc, "sys/kernel/random/boot_id")).trim();
  const host = hostname();
  return {
    pid: process.pid,
    host,
    scope: processScope(host, bootId || `time:${Math.round(Date.now() - uptime() * 1000)}`, namespace(proc)),
    // A /proc of another namespace describes other processes under the same ids.
    started: stat.startsWith(`${process.pid} `) ? startTime(stat) : "",
  };
}

/** @param boot the kernel's boot id, or `time:` with the boot time */
function processScope(host: string, boot: string, pidNamespace: unknown): string {
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
  return readTextOrEmpty(path.join(proc, String(pid), "stat"));
}

function readTextOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/**
 * Whether a process is a zombie: ended, but its parent has not waited for it. In a container whose first process
 * never waits, it keeps its id for good.
 */
function hasEnded(stat: string): boolean {
  return ["Z", "X"].includes(statFields(stat)[0] ?? "");
}

/** Field 22 of /proc/<pid>/stat. */
function startTime(stat: string): string {
  return statFields(stat)[19] ?? "";
}

/** The fields of /proc/<pid>/stat from the third on: the second may contain spaces and brackets, so count from its end. */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
