import { readFileSync } from "node:fs";
import { platform } from "node:os";
import { exitCodeOf } from "../../client/exit-codes.ts";
import { type ProcessContext, thisProcess } from "../../client/this-process.ts";
import { InterruptedError, type InterruptSignal } from "../../core/errors.ts";
import type { NamedGraphics } from "../../graphics/terminal.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type Processes, systemProcesses } from "../../lib/processes.ts";
import type { SandboxOptions } from "../../sandbox/server.ts";
import type { InputStream } from "../input/input-stream.ts";
import { fdStream, type OutputStream } from "../output/output-stream.ts";

/** All that a command needs from its process and terminal. Tests pass a double. */
export interface Context extends ProcessContext {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  clock: Clock;
  /** `22.20.1` */
  readonly nodeVersion: string;
  readonly processes: Processes;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP, with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** Lines to write when a second signal ends the process at once. */
  lastWord: (reason: InterruptedError) => Promise<unknown>;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Draws the embedded sandbox's images; where it is absent, the sandbox's own painter does. */
  readonly drawPicture?: SandboxOptions["draw"];
  /** Asks on the terminal, and reads a line there. */
  ask: (question: string) => Promise<string>;
  /** As `ask`, without showing what is typed. */
  askHidden: (question: string) => Promise<string>;
  /** Sends the terminal a query, and returns its immediate answer; empty if there is none. */
  queryTerminal: (question: string) => Promise<string>;
  /** The graphics protocols that the environment names. */
  namedGraphics: () => Promise<NamedGraphics>;
  /** Lets the user edit a text in their editor. @throws UsageError if that fails */
  edit: (text: string) => Promise<string>;
  /** Whether this process may draw on the terminal. After a shell's `bg` it may not: the prompt is there. */
  isInForeground: () => boolean;
  /** Has `before` called before Ctrl-Z stops the program, and `after` when it goes on. @returns what ends that */
  onSuspend: (before: () => void, after: () => void) => () => void;
}

/**
 * The context of the real process. `process` is the global one: importing it would open all three
 * streams at once, which takes longer than reading the command line.
 */
export function processContext(): Context {
  const stdout = once(() => fdStream(1) ?? quietly(process.stdout));
  const stderr = once(() => fdStream(2) ?? quietly(process.stderr));
  const processes = once(systemProcesses);
  const context: Context = {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return stdout();
    },
    get stderr() {
      return stderr();
    },
    ...thisProcess(),
    clock: systemClock,
    nodeVersion: process.versions.node,
    get processes() {
      return processes();
    },
    signal: interruption((reason) => context.lastWord(reason)),
    lastWord: async () => {},
    random: Math.random,
    ask: (question) => askOnTerminal(question, false),
    askHidden: (question) => askOnTerminal(question, true),
    queryTerminal,
    namedGraphics: async () => (await import("../input/query-terminal.ts")).namedGraphics(process.stdout),
    edit: async (text) => (await import("../input/edit-text.ts")).editText(text, process.env),
    isInForeground,
    onSuspend,
  };
  return context;
}

/** As the signal itself would: on Windows, to send it would end the process at once. */
const onInterrupt = () => void process.emit("SIGINT", "SIGINT");

async function queryTerminal(question: string): Promise<string> {
  const module = await import("../input/query-terminal.ts");
  return module.queryTerminal(question, process.stdin, process.stdout, onInterrupt);
}

async function askOnTerminal(question: string, isHidden: boolean): Promise<string> {
  const { ask } = await import("../input/ask.ts");
  return ask(question, { input: process.stdin, output: process.stderr, onInterrupt }, isHidden);
}

/** A closed pipe is reported to the code that writes; without a listener it would end the process. */
function quietly(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return stream.on("error", () => {});
}

function once<Value>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

const SIGNALS: readonly InterruptSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** The first signal asks the program to shut down cleanly; the second ends it at once. */
function interruption(lastWord: Context["lastWord"]): AbortSignal {
  const controller = new AbortController();
  const listen = (signal: InterruptSignal) =>
    process.on(signal, () => {
      const reason = new InterruptedError(signal);
      if (!controller.signal.aborted) return controller.abort(reason);
      const latestMs = performance.now() + LINGER_MS;
      const leaveOnceIdle = () => {
        if (hasBusyThreads() && performance.now() < latestMs) setTimeout(leaveOnceIdle, 5);
        else leave(exitCodeOf(reason), signal);
      };
      setTimeout(leaveOnceIdle, LINGER_MS);
      lastWord(reason).then(leaveOnceIdle, leaveOnceIdle);
    });
  SIGNALS.forEach(listen);
  return controller.signal;
}

/** There is no such signal on Windows. */
function onSuspend(before: () => void, after: () => void): () => void {
  if (platform() === "win32") return () => {};
  let isStopping = false;
  const suspend = () => {
    if (isStopping) return;
    isStopping = true;
    before();
    // Without a listener it stops the process; where there is no shell to go on from, the system ignores it.
    process.removeListener("SIGTSTP", suspend);
    process.kill(process.pid, "SIGTSTP");
    timer = setTimeout(goOn, LINGER_MS);
  };
  const goOn = () => {
    clearTimeout(timer);
    if (!isStopping) return;
    isStopping = false;
    process.on("SIGTSTP", suspend);
    after();
  };
  let timer: NodeJS.Timeout | undefined;
  process.on("SIGTSTP", suspend).on("SIGCONT", goOn);
  return () => {
    isStopping = false;
    clearTimeout(timer);
    process.removeListener("SIGTSTP", suspend).removeListener("SIGCONT", goOn);
  };
}

/** By the terminal's process group, which Node does not tell; without Linux's /proc, always. */
function isInForeground(): boolean {
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

const LINGER_MS = 100;

/**
 * The command has ended: what still holds the process (a name being looked up, a connection being made
 * for a request that was given up) is not waited for. Where nothing does, the process ends by itself before.
 */
export function leaveSoon(exitCode: number, { reason }: AbortSignal): void {
  const isInterrupted = reason instanceof InterruptedError && exitCode === exitCodeOf(reason);
  setTimeout(() => leave(exitCode, isInterrupted ? reason.signal : null), LINGER_MS).unref();
}

/**
 * Ends the process. `process.exit` waits for Node's threads, and one that is blocked by the system (a name server
 * that does not answer, a disk that is far away) never ends: then the process dies of the signal, which a shell shows
 * as the same exit code.
 * @param signal what ended the run; null if nothing did
 */
function leave(exitCode: number, signal: InterruptSignal | null): never {
  const isBlocked = hasBusyThreads();
  // Whatever still holds the exit up, the next signal ends the process.
  for (const each of SIGNALS) process.removeAllListeners(each);
  if (isBlocked && signal !== null) process.kill(process.pid, signal);
  process.exit(exitCode);
}

/** Whether one of Node's threads is in the middle of a system call for us: a file operation or a name look-up. */
function hasBusyThreads(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/.test(name));
}

/** The user whose files this process may change; undefined on Windows. */
export function effectiveUserId(): number | undefined {
  return process.geteuid?.();
}
