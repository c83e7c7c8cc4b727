import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { platform } from "node:os";
import { getExitCode } from "../../client/exit-codes.ts";
import { InterruptedError, type InterruptSignal } from "../../lib/interrupted.ts";
import { callBeforeExit } from "../../lib/processes.ts";

const SIGNALS: readonly InterruptSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

const GRACE_MS = 100;

/** A second signal must end the process within 2 s, even if the requests that stop jobs do not end. */
const STOP_TIMEOUT_MS = 1_500;

/**
 * The first signal shuts the program down cleanly. The second ends it at once, or within 2 s if there are jobs to stop.
 * @param getStopFunction returns a function that stops jobs at their providers, or undefined if there are no jobs
 * @returns an AbortSignal that is aborted at the first signal, with an InterruptedError as its reason
 */
export function interruptSignal(
  onSecondSignal: (reason: InterruptedError) => Promise<unknown>,
  getStopFunction: () => ((signal: AbortSignal) => Promise<unknown>) | undefined,
): AbortSignal {
  let isStopping = false;
  const controller = new AbortController();
  const listen = (signal: InterruptSignal) =>
    process.on(signal, () => {
      const reason = new InterruptedError(signal);
      if (!controller.signal.aborted) return controller.abort(reason);
      const stop = isStopping ? undefined : getStopFunction();
      if (stop === undefined) return exitAfterMessage(reason, signal, onSecondSignal);
      isStopping = true;
      const exit = () => exitAfterMessage(reason, signal, onSecondSignal);
      stop(AbortSignal.timeout(STOP_TIMEOUT_MS)).then(exit, exit);
    });
  // Each pending write adds a listener, so Node's warning about many listeners is disabled.
  setMaxListeners(0, controller.signal);
  SIGNALS.forEach(listen);
  return controller.signal;
}

function exitAfterMessage(
  reason: InterruptedError,
  signal: InterruptSignal,
  writeMessage: (reason: InterruptedError) => Promise<unknown>,
): void {
  const latestMs = performance.now() + GRACE_MS;
  const exitOnceIdle = () => {
    if (hasBusyThreads() && performance.now() < latestMs) setTimeout(exitOnceIdle, 5);
    else exitProcess(getExitCode(reason), signal);
  };
  setTimeout(exitOnceIdle, GRACE_MS);
  writeMessage(reason).then(exitOnceIdle, exitOnceIdle);
}

/**
 * Calls `onStop` before Ctrl-Z suspends the program (except on Windows). Returns a function that removes the listeners.
 */
export function onSuspend(onStop: () => void, onResume: () => void): () => void {
  if (platform() === "win32") return () => {};
  let isStopping = false;
  const suspend = () => {
    if (isStopping) return;
    isStopping = true;
    onStop();
    // The signal stops the process once its listener is removed. If no shell could continue the process, the system
    // ignores the signal, and the timer adds the listener again.
    process.removeListener("SIGTSTP", suspend);
    process.kill(process.pid, "SIGTSTP");
    timer = setTimeout(onContinue, GRACE_MS);
  };
  const onContinue = () => {
    clearTimeout(timer);
    if (!isStopping) return;
    isStopping = false;
    process.on("SIGTSTP", suspend);
    onResume();
  };
  let timer: NodeJS.Timeout | undefined;
  process.on("SIGTSTP", suspend).on("SIGCONT", onContinue);
  return () => {
    isStopping = false;
    clearTimeout(timer);
    process.removeListener("SIGTSTP", suspend).removeListener("SIGCONT", onContinue);
  };
}

/** Ignores Ctrl-C while another program, such as a pager, uses the terminal. */
export async function withoutCtrlC<Result>(run: () => Promise<Result>): Promise<Result> {
  const listeners = process.listeners("SIGINT");
  const ignore = () => {};
  process.on("SIGINT", ignore);
  for (const listener of listeners) process.removeListener("SIGINT", listener);
  try {
    return await run();
  } finally {
    for (const listener of listeners) process.on("SIGINT", listener);
    process.removeListener("SIGINT", ignore);
  }
}

/** Always true on systems other than Linux. */
export function isInForeground(): boolean {
  if (platform() !== "linux") return true;
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // The command name can contain spaces. The fields after it are state, ppid, pgrp, session, tty_nr and tpgid.
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return true;
  }
}

/** Exits even if a DNS lookup or the connection of an abandoned request keeps the process alive. */
export function exitAfterGrace(exitCode: number, { reason }: AbortSignal): void {
  // A blocked write can prevent a normal exit, so `exitProcess` needs the signal.
  const signal = reason instanceof InterruptedError ? reason.signal : null;
  setTimeout(() => exitProcess(exitCode, signal), GRACE_MS).unref();
}

/**
 * Ends the process, even if an unresponsive DNS server or network disk blocks one of Node's threads. `process.exit`
 * would wait for the thread, so the process kills itself with the signal. Shells report the same exit code.
 */
function exitProcess(exitCode: number, signal: InterruptSignal | null): never {
  const isBlocked = hasBusyThreads();
  // Without listeners, the next signal kills the process if the exit is blocked.
  for (const each of SIGNALS) process.removeAllListeners(each);
  if (isBlocked && signal !== null) {
    // A process that is killed by a signal emits no exit event, so the exit handlers are called first.
    callBeforeExit();
    process.kill(process.pid, signal);
  }
  process.exit(exitCode);
}

/** Whether one of Node's threads is in a system call (a file operation or a DNS lookup). */
function hasBusyThreads(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));
}
