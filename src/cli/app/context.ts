import { homedir, platform } from "node:os";
import path from "node:path";
import { InterruptedError, type InterruptSignal, SaveFailedError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { errorCode } from "../../lib/error-code.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/errors.ts";
import { type Processes, systemProcesses } from "../../lib/processes.ts";
import { fdStream, type OutputStream } from "../output/output-stream.ts";
import { exitCodeOf } from "./exit-codes.ts";

export type Environment = Record<string, string | undefined>;

/** A stream that the program reads from. Destroying it ends the reading. */
export interface InputStream extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean;
  destroy(): void;
}

/** Everything a command knows of the world around it. A test hands it another world. */
export interface Context {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  env: Environment;
  /**
   * The absolute path of a file that a user named. Only a relative one needs the working folder.
   * @throws SaveFailedError where that is gone
   */
  resolvePath: (file: string) => string;
  clock: Clock;
  readonly processes: Processes;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP, with an InterruptedError as its reason. */
  signal: AbortSignal;
  /** What is still said when a second signal ends the process at once. */
  lastWord: (reason: InterruptedError) => Promise<unknown>;
  /** Mode of saved files: what the umask leaves of rw-rw-rw-. */
  fileMode: number;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Reads a line from the terminal without showing it. */
  askHidden: (question: string) => Promise<string>;
}

/**
 * The real world. The only place that touches `process`, the global one: importing it would open all three
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
    env: process.env,
    resolvePath,
    clock: systemClock,
    get processes() {
      return processes();
    },
    signal: interruption((reason) => context.lastWord(reason)),
    lastWord: async () => {},
    fileMode: 0o666 & ~process.umask(),
    random: Math.random,
    askHidden: async (question) => {
      const { askHidden } = await import("../input/ask-hidden.ts");
      // As the signal itself would: on Windows, to send it would end the process at once.
      const interrupt = () => process.emit("SIGINT", "SIGINT");
      return askHidden(question, process.stdin, process.stderr, interrupt);
    },
  };
  return context;
}

/** A closed pipe is told to whoever writes; without a listener it would end the process. */
function quietly(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  return stream.on("error", () => {});
}

function resolvePath(file: string): string {
  return path.isAbsolute(file) ? path.resolve(file) : path.resolve(workingFolder(), file);
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new SaveFailedError(`The working folder cannot be used: ${errorText(error)}.`, {
      hint: "Nothing was charged. Change to a folder that exists, or give absolute paths.",
      cause: error,
    });
  }
}

function once<Value>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

const SIGNALS: readonly InterruptSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** The first signal asks the program to stop in good order; the second does not wait for it. */
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

const LINGER_MS = 100;

/**
 * Everything is said and done: what still holds the process (a name being looked up, a connection being made
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
 * @param signal what ended the run; null where nothing did
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

export interface Folders {
  config: string;
  state: string;
}

/**
 * Where settings and state live: under IMGGEN_HOME, else at the platform's own places.
 * @throws UsageError where neither that nor a home folder is known
 */
export function foldersOf({ env, resolvePath }: Pick<Context, "env" | "resolvePath">): Folders {
  if (env.IMGGEN_HOME) {
    const home = resolvePath(env.IMGGEN_HOME);
    return { config: path.join(home, "config"), state: path.join(home, "state") };
  }
  switch (platform()) {
    case "darwin": {
      const library = path.join(homeFolder(), "Library");
      return {
        config: path.join(library, "Preferences", "imggen"),
        state: path.join(library, "Application Support", "imggen"),
      };
    }
    case "win32":
      return {
        config: path.join(env.APPDATA ?? path.join(homeFolder(), "AppData", "Roaming"), "imggen"),
        state: path.join(env.LOCALAPPDATA ?? path.join(homeFolder(), "AppData", "Local"), "imggen"),
      };
    default:
      return {
        config: path.join(xdg(env.XDG_CONFIG_HOME, ".config"), "imggen"),
        state: path.join(xdg(env.XDG_STATE_HOME, path.join(".local", "state")), "imggen"),
      };
  }
}

/** @throws UsageError where neither the environment nor the system knows one */
function homeFolder(): string {
  let home = "";
  try {
    home = homedir();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
  if (path.isAbsolute(home)) return home;
  throw new UsageError("You have no home folder, so there is no place for settings and the ledger.", {
    hint: "Nothing was charged. Set IMGGEN_HOME to a folder that is to hold them.",
  });
}

/** The XDG rule: a relative path in these variables is to be ignored. */
function xdg(value: string | undefined, fallback: string): string {
  return value && path.isAbsolute(value) ? value : path.join(homeFolder(), fallback);
}
