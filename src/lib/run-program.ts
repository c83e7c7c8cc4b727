import { type ChildProcessByStdio, spawn } from "node:child_process";
import { platform } from "node:os";
import type { Readable } from "node:stream";
import { formatDuration } from "./duration.ts";
import { errorText } from "./error-text.ts";
import { signalGroup } from "./processes.ts";

/**
 * The environment of a program of the user's, without the variables that it must not see: names of any letter case, as
 * on Windows.
 */
export function environmentWithout(
  hidden: RegExp,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !hidden.test(name.toUpperCase())));
}

export interface ProgramOptions {
  env: Record<string, string | undefined>;
  timeoutMs: number;
  /** Kills the program, and everything that it has started. */
  signal: AbortSignal;
  /** Called once it runs, with its process id. */
  onStarted?: (pid: number) => void;
  /** Its working folder. Default: this process's. */
  cwd?: string;
  /** How long it has to end by itself after its time is up, in milliseconds. Default 0: it is killed at once. */
  graceMs?: number;
  /** Whether standard output beyond its limit is dropped, all but its end. Default: the program is killed. */
  dropsOutput?: boolean;
}

/** How a program ended. */
export type ProgramEnd =
  | { kind: "ended"; code: number | null; killedBy: string | null; stdout: string; stderr: string }
  | { kind: "not_started"; error: unknown }
  | { kind: "timed_out"; stdout: string; stderr: string }
  /** It wrote more than `MOST_STDOUT_BYTES` to standard output, and was killed. */
  | { kind: "too_much_output" }
  | { kind: "aborted" };

const MOST_STDOUT_BYTES = 64 * 1024;
/** The end of standard error that is kept. */
const MOST_STDERR_BYTES = 8 * 1024;

/** A process that a program leaves behind may hold its output open; it is waited for no longer than this. */
const OUTPUT_AFTER_EXIT_MS = 1_000;

/**
 * Runs a program without a shell and without standard input, in a process group of its own: Ctrl-C on the terminal
 * reaches it through `signal` alone, and what it has started is killed with it. Never throws.
 */
export async function runProgram(words: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const [program = "", ...args] = words;
  const { env, cwd, signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  try {
    const detached = platform() !== "win32";
    const child = spawn(program, args, { env, cwd, stdio, detached, windowsHide: true });
    if (child.pid !== undefined) options.onStarted?.(child.pid);
    return await new Promise((resolve) => new Run(child, options, resolve));
  } catch (error) {
    // Some errors are thrown at once: a NUL character in an argument, for example.
    return { kind: "not_started", error };
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** One run of a program. Whatever ends it first is its end. */
class Run {
  readonly #child: Child;
  readonly #options: ProgramOptions;
  readonly #resolve: (end: ProgramEnd) => void;
  readonly #timers: NodeJS.Timeout[];
  #stdout = Buffer.alloc(0);
  #stderr = Buffer.alloc(0);
  #isOutOfTime = false;

  constructor(child: Child, options: ProgramOptions, resolve: (end: ProgramEnd) => void) {
    this.#child = child;
    this.#options = options;
    this.#resolve = resolve;
    this.#timers = [setTimeout(() => this.#timeOut(), options.timeoutMs)];
    options.signal.addEventListener("abort", this.#abort, { once: true });
    child.stdout.on("data", (chunk: Buffer) => this.#wrote(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-MOST_STDERR_BYTES);
    });
    child.on("error", (error) => this.#end({ kind: "not_started", error }));
    child.on("exit", (code, killedBy) => {
      const late = this.#isOutOfTime;
      // What it has started may live on.
      if (late) signalAll(child, "SIGKILL");
      const ended = () => {
        const how = late ? { kind: "timed_out" as const } : { kind: "ended" as const, code, killedBy };
        this.#end({ ...how, ...this.#output() });
      };
      this.#timers.push(setTimeout(ended, OUTPUT_AFTER_EXIT_MS));
      child.on("close", ended);
    });
  }

  #wrote(chunk: Buffer): void {
    this.#stdout = Buffer.concat([this.#stdout, chunk]);
    if (this.#stdout.length <= MOST_STDOUT_BYTES) return;
    if (this.#options.dropsOutput) this.#stdout = this.#stdout.subarray(-MOST_STDOUT_BYTES);
    else this.#stop({ kind: "too_much_output" });
  }

  #output(): { stdout: string; stderr: string } {
    return { stdout: this.#stdout.toString(), stderr: this.#stderr.toString() };
  }

  #timeOut(): void {
    const { graceMs = 0 } = this.#options;
    const stop = () => this.#stop({ kind: "timed_out", ...this.#output() });
    // Windows has no signal that asks a program to end.
    if (graceMs === 0 || platform() === "win32") stop();
    else {
      this.#isOutOfTime = true;
      signalAll(this.#child, "SIGTERM");
      this.#timers.push(setTimeout(stop, graceMs));
    }
  }

  readonly #abort = () => this.#stop({ kind: "aborted" });

  /** Kills at once, with no chance to clean up: a second Ctrl-C may end this process at any moment. */
  #stop(how: ProgramEnd): void {
    signalAll(this.#child, "SIGKILL");
    this.#end(how);
  }

  #end(how: ProgramEnd): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.signal.removeEventListener("abort", this.#abort);
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
    this.#resolve(how);
  }
}

function signalAll({ pid }: Child, signal: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  if (platform() === "win32") {
    const words = ["/pid", String(pid), "/T", "/F"];
    spawn("taskkill", words, { stdio: "ignore", windowsHide: true }).on("error", () => {});
  } else signalGroup(pid, signal);
}

const MOST_LINES = 3;
const MOST_CHARACTERS = 300;

/** How a program failed, as a phrase that follows its name, with the end of what it said. */
export function programFailure(
  end: Exclude<ProgramEnd, { kind: "aborted" | "too_much_output" }>,
  program: string,
  timeoutMs: number,
): string {
  switch (end.kind) {
    case "not_started":
      return `cannot be started: ${program}: ${errorText(end.error)}`;
    case "timed_out":
      return `took longer than ${formatDuration(timeoutMs)} and was killed${lastLines(end.stderr)}`;
    case "ended": {
      const how =
        end.killedBy === null ? `failed with exit code ${end.code}` : `was ended by ${end.killedBy}`;
      return `${how}${lastLines(end.stderr)}`;
    }
  }
}

/** The end of what a program said, on one line, after a colon. */
function lastLines(said: string): string {
  const lines = linesOf(said).slice(-MOST_LINES).join(" / ");
  if (lines === "") return "";
  return `: ${lines.length > MOST_CHARACTERS ? `…${lines.slice(-MOST_CHARACTERS)}` : lines}`;
}

/** The lines of a text that are not blank, without the spaces around them. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r?\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
