// Signals sent to the process, and how it ends.
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { platform } from "node:os";
import { getExitCode } from "../../client/exit-codes.ts";
import { InterruptedError, type InterruptSignal } from "../../lib/interrupted.ts";
import { callBeforeExit } from "../../lib/processes.ts";

const SIGNALS: readonly InterruptSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Grace period for the process to end by itself. */
const LINGER_MS = 100;

/** Time limit of the requests that stop jobs after a second signal, in milliseconds: the process exits within two seconds. */
const STOP_MS = 1_500;

/**
 * The first signal asks the program to shut down cleanly; the second ends it at once, or within two seconds if
 * there are jobs to stop; the third at once.
 * @param onSecondSignal called for the second
 * @param stopping returns the function that asks others to stop; undefined if there is nothing to stop
 * @returns aborts at the first, with an InterruptedError as its reason
 */
export function interruptSignal(
  onSecondSignal: (reason: InterruptedError) => Promise<unknown>,
  stopping: () => ((signal: AbortSignal) => Promise<unknown>) | undefined,
): AbortSignal {
  let isStopping = false;
  const controller = new AbortController();
  const listen = (signal: InterruptSignal) =>
    process.on(signal, () => {
      const reason = new InterruptedError(signal);
      if (!controller.signal.aborted) return controller.abort(reason);
      const stop = isStopping ? undefined : stopping();
      if (stop === undefined) return leaveNow(reason, signal, onSecondSignal);
      isStopping = true;
      const leaving = () => leaveNow(reason, signal, onSecondSignal);
      stop(AbortSignal.timeout(STOP_MS)).then(leaving, leaving);
    });
  // Every write that waits for its reader adds a listener, so a large number is not a leak.
  setMaxListeners(0, controller.signal);
  SIGNALS.forEach(listen);
  return controller.signal;
}

/** Ends the process as soon as the last words are written. */
function leaveNow(
  reason: InterruptedError,
  signal: InterruptSignal,
  lastWords: (reason: InterruptedError) => Promise<unknown>,
): void {
  const latestMs = performance.now() + LINGER_MS;
  const leaveOnceIdle = () => {
    if (hasBusyThreads() && performance.now() < latestMs) setTimeout(leaveOnceIdle, 5);
    else leave(getExitCode(reason), signal);
  };
  setTimeout(leaveOnceIdle, LINGER_MS);
  lastWords(reason).then(leaveOnceIdle, leaveOnceIdle);
}

/**
 * Calls `before` each time before Ctrl-Z stops the program, and `after` when it continues. Windows has no such signal.
 * @returns a function that removes the listeners
 */
export function onSuspend(before: () => void, after: () => void): () => void {
  if (platform() === "win32") return () => {};
  let isStopping = false;
  const suspend = () => {
    if (isStopping) return;
    isStopping = true;
    before();
    // Without a listener it stops the process; the system ignores it if no shell could continue the process.
    process.removeListener("SIGTSTP", suspend);
    process.kill(process.pid, "SIGTSTP");
    timer = setTimeout(onContinue, LINGER_MS);
  };
  const onContinue = () => {
    clearTimeout(timer);
    if (!isStopping) return;
    isStopping = false;
    process.on("SIGTSTP", suspend);
    after();
  };
  let timer: NodeJS.Timeout | undefined;
  process.on("SIGTSTP", suspend).on("SIGCONT", onContinue);
  return () => {
    isStopping = false;
    clearTimeout(timer);
    process.removeListener("SIGTSTP", suspend).removeListener("SIGCONT", onContinue);
  };
}

/** Ctrl-C is for another program on the terminal, such as a pager, until that has ended. */
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

/** Compares the terminal's process group, which Node does not tell, with its own. True without Linux's /proc. */
export function isInForeground(): boolean {
  if (platform() !== "linux") return true;
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // After the command's name, which may hold anything: state, parent, group, session, terminal, its group.
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return true;
  }
}

/**
 * The command has ended: what still keeps the process alive (a DNS lookup, a connection for a request
 * that was given up) is not waited for. If nothing does, the process ends by itself before.
 */
export function leaveSoon(exitCode: number, { reason }: AbortSignal): void {
  // A command that failed may still be blocked in a write of its last message.
  const signal = reason instanceof InterruptedError ? reason.signal : null;
  setTimeout(() => leave(exitCode, signal), LINGER_MS).unref();
}

/**
 * Ends the process. `process.exit` waits for Node's threads, and one that the system blocks (by a DNS server that does
 * not answer, or a network disk) never ends: then the process dies of the signal, which a shell shows as the same exit
 * code.
 * @param signal what ended the run; null if nothing did
 */
function leave(exitCode: number, signal: InterruptSignal | null): never {
  const isBlocked = hasBusyThreads();
  // Whatever still holds the exit up, the next signal ends the process.
  for (const each of SIGNALS) process.removeAllListeners(each);
  if (isBlocked && signal !== null) {
    // A process that dies of a signal emits no event.
    callBeforeExit();
    process.kill(process.pid, signal);
  }
  process.exit(exitCode);
}

/** Whether one of Node's threads is still in a system call: a file operation or a DNS lookup. */
function hasBusyThreads(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));
}
