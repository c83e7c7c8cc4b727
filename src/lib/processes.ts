import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import path from "node:path";
import { errorCode } from "./error-text.ts";
import { fieldsOf } from "./json.ts";

/** Identifies a process uniquely, even after its id is reused, and across machines. */
export interface ProcessIdentity {
  pid: number;
  host: string;
  /**
   * Scope in which the process id is unique: the kernel's boot id, and the process id namespace of a container.
   * If the system has no boot id, it is the host and `time:` with the boot time in milliseconds since the epoch.
   * In records of earlier releases, it is the host.
   */
  scope: string;
  started: string;
}

export interface Processes {
  readonly self: ProcessIdentity;
  /** Whether a process is alive; null if unknown, because it runs on another machine or in another container. */
  isAlive(other: ProcessIdentity): boolean | null;
}

/** @param proc folder of the kernel's process files; missing on macOS and Windows */
export function systemProcesses(proc = "/proc"): Processes {
  let identity: ProcessIdentity | undefined;
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

/** Returns null if the process has ended, or has no start time that distinguishes it from later processes. */
export function identifyProcess(pid: number, proc = "/proc"): ProcessIdentity | null {
  const started = startTime(readStat(proc, pid));
  return started === "" ? null : { ...identify(proc), pid, started };
}

/** Sends a signal to a process group, if the group exists. @param id process id of the group's leader */
export function signalGroup(id: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-id, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

const EXIT_CALLBACKS = new Set<() => void>();

/** To be called before this process ends itself with a signal, because a signal runs no exit handlers. */
export function callBeforeExit(): void {
  for (const callback of EXIT_CALLBACKS) callback();
}

export function userId(): number | undefined {
  return process.geteuid?.();
}

/** Registers a callback for every exit that is not caused by a signal. @returns a function that removes the callback */
export function beforeExit(callback: () => void): () => void {
  if (EXIT_CALLBACKS.size === 0) process.on("exit", callBeforeExit);
  EXIT_CALLBACKS.add(callback);
  return () => {
    if (EXIT_CALLBACKS.delete(callback) && EXIT_CALLBACKS.size === 0)
      process.removeListener("exit", callBeforeExit);
  };
}

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

/** Maximum difference of two measurements of the same boot time. Clock corrections are smaller, and reboots larger. */
const MAX_BOOT_TIME_SKEW_MS = 60_000;

/** Whether each of two processes can check that the other is alive. Records without a scope are compared by host. */
export function isInSameScope(a: ProcessIdentity, b: ProcessIdentity): boolean {
  if (a.scope === a.host || b.scope === b.host) return a.host === b.host;
  const [scope, other] = [a, b].map((each) => each.scope.replace(BOOT_TIME, ""));
  return scope === other && Math.abs(bootMs(a) - bootMs(b)) < MAX_BOOT_TIME_SKEW_MS;
}

export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started && isInSameScope(a, b);
}

function bootMs({ scope }: ProcessIdentity): number {
  return Number(BOOT_TIME.exec(scope)?.[1] ?? 0);
}

function isAlive(other: ProcessIdentity, self: ProcessIdentity, proc: string): boolean | null {
  if (!isInSameScope(other, self)) return null;
  if (!(other.pid > 0)) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if (errorCode(error) !== "EPERM") return false;
  }
  // Without start times, a later process with the same id cannot be distinguished.
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
    scope: processScope(
      host,
      bootId || `time:${Math.round(Date.now() - uptime() * 1000)}`,
      readPidNamespace(proc),
    ),
    // Ignores the /proc folder of another namespace, because it describes other processes.
    started: stat.startsWith(`${process.pid} `) ? startTime(stat) : "",
  };
}

function processScope(host: string, boot: string, pidNamespace: unknown): string {
  const machine = BOOT_TIME.test(boot) ? `${host} ${boot}` : boot;
  return typeof pidNamespace === "string" ? `${machine} ${pidNamespace}` : machine;
}

function readPidNamespace(proc: string): string | null {
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

/** Whether a process is a zombie, which has ended although its id still exists. */
function hasEnded(stat: string): boolean {
  return ["Z", "X"].includes(statFields(stat)[0] ?? "");
}

function startTime(stat: string): string {
  return statFields(stat)[19] ?? "";
}

/** Returns the fields of /proc/<pid>/stat after the program name, which can contain spaces and brackets. */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
