import { type ChildProcessByStdio, spawn } from "node:child_process";
import { platform } from "node:os";
import type { Readable } from "node:stream";
import { formatDuration } from "./duration.ts";
import { errorText } from "./error-text.ts";
import { beforeExit, signalGroup } from "./processes.ts";

/**
 * The environment of a program of the user's, without the variables that it must not see.
 * @param isHidden gets a name in capitals: Windows ignores their letter case
 */
export function environmentWithout(
  isHidden: (name: string) => boolean,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isHidden(name.toUpperCase())));
}

export interface ProgramOptions {
  env: Record<string, string | undefined>;
  /** Default: it may take any time. */
  timeoutMs?: number;
  /** Ends the program, and everything that it has started. */
  signal: AbortSignal;
  /** Kills it at once, also within its grace. */
  killSignal?: AbortSignal;
  /** Called once it runs, with its process id. */
  onStarted?: (pid: number) => void;
  /** Its working folder. Default: this process's. */
  cwd?: string;
  /**
   * How long it has to end by itself after its time is up or the signal is aborted, in milliseconds; it is killed before
   * where this process ends. Default 0: it is killed at once.
   */
  graceMs?: number;
  /** Whether standard output beyond its limit is dropped, all but its end. Default: the program is killed. */
  dropsOutput?: boolean;
}

/** How a program ended. */
export type ProgramEnd =
  | { kind: "ended"; code: number | null; killedBy: string | null; stdout: string; stderr: string }
  | { kind: "not_started"; error: unknown }
  | { kind: "timed_out"; stdout: string; stderr: string }
  /** It wrote more than `MAX_STDOUT_BYTES` to standard output, and was killed. */
  | { kind: "too_much_output" }
  /** Given up by the signal, within its grace, and gone: by itself, or killed (no code). */
  | { kind: "stopped"; code: number | null; stdout: string; stderr: string }
  /** Given up by the signal: it was killed, or never started. */
  | { kind: "aborted" };

const MAX_STDOUT_BYTES = 64 * 1024;
/** The end of standard error that is kept. */
const MAX_STDERR_BYTES = 8 * 1024;

/** A process that a program leaves behind may hold its output open; it is waited for no longer than this. */
const OUTPUT_AFTER_EXIT_MS = 1_000;

/** A program that was killed is gone at once, unless the system itself waits for a disk. */
const END_AFTER_KILL_MS = 5_000;

/**
 * Runs a program without a shell and without standard input, in a process group of its own: Ctrl-C on the terminal
 * reaches it through `signal` alone, and what it has started is killed with it. Throws nothing but what `onStarted` does.
 */
export async function runProgram(words: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const [program = "", ...args] = words;
  const { env, cwd, signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  let child: Child;
  try {
    const detached = platform() !== "win32";
    child = spawn(program, args, { env, cwd, stdio, detached, windowsHide: true });
  } catch (error) {
    // Some errors are thrown at once: a NUL character in an argument, for example.
    return { kind: "not_started", error };
  }
  const ending = new Promise<ProgramEnd>((resolve) => new Run(child, options, resolve));
  if (child.pid !== undefined) options.onStarted?.(child.pid);
  return ending;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** One run of a program. Whatever ends it first is its end. */
class Run {
  readonly #child: Child;
  readonly #options: ProgramOptions;
  readonly #resolve: (end: ProgramEnd) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #stdout = Buffer.alloc(0);
  #stderr = Buffer.alloc(0);
  /** Why it was asked to end; null: it was not. */
  #asked: "timed_out" | "stopped" | null = null;
  #release = () => {};

  constructor(child: Child, options: ProgramOptions, resolve: (end: ProgramEnd) => void) {
    this.#child = child;
    this.#options = options;
    this.#resolve = resolve;
    if (options.timeoutMs !== undefined)
      this.#timers.push(setTimeout(() => this.#askToEnd("timed_out"), options.timeoutMs));
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    options.killSignal?.addEventListener("abort", this.#onKill, { once: true });
    child.stdout.on("data", (chunk: Buffer) => this.#wrote(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-MAX_STDERR_BYTES);
    });
    child.on("error", (error) => this.#end({ kind: "not_started", error }));
    child.on("exit", (code, killedBy) => {
      const asked = this.#asked;
      // What it has started may live on.
      if (asked !== null) this.#kill();
      const ended = () => {
        const how =
          asked === null
            ? { kind: "ended" as const, code, killedBy }
            : asked === "stopped"
              ? { kind: asked, code }
              : { kind: asked };
        this.#end({ ...how, ...this.#output() });
      };
      this.#timers.push(setTimeout(ended, OUTPUT_AFTER_EXIT_MS));
      child.on("close", ended);
    });
  }

  #wrote(chunk: Buffer): void {
    this.#stdout = Buffer.concat([this.#stdout, chunk]);
    if (this.#stdout.length <= MAX_STDOUT_BYTES) return;
    if (this.#options.dropsOutput) this.#stdout = this.#stdout.subarray(-MAX_STDOUT_BYTES);
    else this.#stop({ kind: "too_much_output" });
  }

  #output(): { stdout: string; stderr: string } {
    return { stdout: this.#stdout.toString(), stderr: this.#stderr.toString() };
  }

  readonly #onAbort = () => this.#askToEnd("stopped");
  readonly #onKill = () => (this.#asked === null ? this.#stop({ kind: "aborted" }) : this.#kill());
  readonly #kill = () => signalAll(this.#child, "SIGKILL");

  /** Gives it its grace, if it has any. */
  #askToEnd(why: "timed_out" | "stopped"): void {
    const { graceMs = 0 } = this.#options;
    // Windows has no signal that asks a program to end. And a second reason to end allows no more time.
    if (graceMs === 0 || platform() === "win32" || this.#asked !== null) {
      const isTimeOut = why === "timed_out";
      this.#stop(isTimeOut ? { kind: why, ...this.#output() } : { kind: "aborted" });
      return;
    }
    this.#asked = why;
    signalAll(this.#child, "SIGTERM");
    // Nobody is there to kill it later where this process ends before its grace does: a second Ctrl-C does that.
    this.#release = beforeExit(this.#kill);
    this.#timers.push(
      setTimeout(this.#kill, graceMs),
      setTimeout(() => this.#stop({ kind: "aborted" }), graceMs + END_AFTER_KILL_MS),
    );
  }

  /** Kills at once, with no chance to clean up: a second Ctrl-C may end this process at any moment. */
  #stop(how: ProgramEnd): void {
    this.#kill();
    this.#end(how);
  }

  #end(how: ProgramEnd): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#release();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#options.killSignal?.removeEventListener("abort", this.#onKill);
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

const MAX_LINES = 3;
const MAX_CHARACTERS = 300;

/** How a program failed, as a phrase that follows its name, with the end of what it said. */
export function programFailure(
  end: Exclude<ProgramEnd, { kind: "aborted" | "too_much_output" }>,
  program: string,
  timeoutMs = 0,
): string {
  switch (end.kind) {
    case "not_started":
      return `cannot be started: ${program}: ${errorText(end.error)}`;
    case "timed_out":
      return `took longer than ${formatDuration(timeoutMs)} and was killed${lastLines(end.stderr)}`;
    case "stopped":
      return `was stopped before it had ended${lastLines(end.stderr)}`;
    case "ended": {
      const how =
        end.killedBy === null ? `failed with exit code ${end.code}` : `was ended by ${end.killedBy}`;
      return `${how}${lastLines(end.stderr)}`;
    }
  }
}

/** The end of what a program said, on one line, after a colon. */
function lastLines(said: string): string {
  const lines = linesOf(said).slice(-MAX_LINES).join(" / ");
  if (lines === "") return "";
  return `: ${lines.length > MAX_CHARACTERS ? `…${lines.slice(-MAX_CHARACTERS)}` : lines}`;
}

/** The lines of a text that are not blank, without the spaces around them. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r?\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
