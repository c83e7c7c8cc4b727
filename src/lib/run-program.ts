import { type ChildProcessByStdio, spawn } from "node:child_process";
import { platform } from "node:os";
import type { Readable } from "node:stream";
import { formatDuration } from "./duration.ts";
import { errorText } from "./error-text.ts";
import { beforeExit, signalGroup } from "./processes.ts";

/**
 * The environment of a user's program, without the variables that it must not see.
 * @param isHidden gets the name in capitals, because Windows ignores letter case
 */
export function environmentWithout(
  isHidden: (name: string) => boolean,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isHidden(name.toUpperCase())));
}

export interface ProgramOptions {
  env: Record<string, string | undefined>;
  /** Default: no limit. */
  timeoutMs?: number;
  /** Ends the program, and everything that it has started. */
  signal: AbortSignal;
  /** Kills it at once, also within its grace. */
  killSignal?: AbortSignal;
  /** Called with the process id once the program runs. */
  onStarted?: (pid: number) => void;
  /** Default: the working folder of this process. */
  cwd?: string;
  /**
   * Grace period after the timeout or an abort, in milliseconds. The program is killed earlier if this process exits.
   * Default 0: it is killed at once.
   */
  graceMs?: number;
  /** Whether standard output beyond the limit is dropped, except its end. Default: the program is killed. */
  dropsOutput?: boolean;
}

export type ProgramEnd =
  | { kind: "ended"; code: number | null; killedBy: string | null; stdout: string; stderr: string }
  | { kind: "not_started"; error: unknown }
  | { kind: "timed_out"; stdout: string; stderr: string }
  /** More than `MAX_STDOUT_BYTES` on standard output: it was killed. */
  | { kind: "too_much_output" }
  /** Ended within the grace period after an abort; no code if it was killed. */
  | { kind: "stopped"; code: number | null; stdout: string; stderr: string }
  /** Killed after an abort, or never started. */
  | { kind: "aborted" };

const MAX_STDOUT_BYTES = 64 * 1024;
const MAX_STDERR_BYTES = 8 * 1024;

/** A child process that outlives the program may keep its output open; do not wait longer than this for it. */
const OUTPUT_AFTER_EXIT_MS = 1_000;

/** A killed program ends at once, unless the system itself waits for a disk. */
const END_AFTER_KILL_MS = 5_000;

/**
 * Runs a program without a shell or standard input, in its own process group: Ctrl-C on the terminal reaches it
 * through `signal` alone, and a kill includes its child processes. Throws only errors of `onStarted`.
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

/** One run of a program. The first event that ends it decides the result. */
class Run {
  readonly #child: Child;
  readonly #options: ProgramOptions;
  readonly #resolve: (end: ProgramEnd) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #stdout = Buffer.alloc(0);
  #stderr = Buffer.alloc(0);
  /** null: no request to end yet. */
  #endReason: "timed_out" | "stopped" | null = null;
  #release = () => {};

  constructor(child: Child, options: ProgramOptions, resolve: (end: ProgramEnd) => void) {
    this.#child = child;
    this.#options = options;
    this.#resolve = resolve;
    if (options.timeoutMs !== undefined)
      this.#timers.push(setTimeout(() => this.#askToEnd("timed_out"), options.timeoutMs));
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    options.killSignal?.addEventListener("abort", this.#onKill, { once: true });
    child.stdout.on("data", (chunk: Buffer) => this.#collectOutput(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-MAX_STDERR_BYTES);
    });
    child.on("error", (error) => this.#end({ kind: "not_started", error }));
    child.on("exit", (code, killedBy) => {
      const endReason = this.#endReason;
      // Its child processes may outlive it.
      if (endReason !== null) this.#kill();
      const onEnd = () => {
        const end =
          endReason === null
            ? { kind: "ended" as const, code, killedBy }
            : endReason === "stopped"
              ? { kind: endReason, code }
              : { kind: endReason };
        this.#end({ ...end, ...this.#output() });
      };
      this.#timers.push(setTimeout(onEnd, OUTPUT_AFTER_EXIT_MS));
      child.on("close", onEnd);
    });
  }

  #collectOutput(chunk: Buffer): void {
    this.#stdout = Buffer.concat([this.#stdout, chunk]);
    if (this.#stdout.length <= MAX_STDOUT_BYTES) return;
    if (this.#options.dropsOutput) this.#stdout = this.#stdout.subarray(-MAX_STDOUT_BYTES);
    else this.#stop({ kind: "too_much_output" });
  }

  #output(): { stdout: string; stderr: string } {
    return { stdout: this.#stdout.toString(), stderr: this.#stderr.toString() };
  }

  readonly #onAbort = () => this.#askToEnd("stopped");
  readonly #onKill = () => (this.#endReason === null ? this.#stop({ kind: "aborted" }) : this.#kill());
  readonly #kill = () => signalAll(this.#child, "SIGKILL");

  /** Starts the grace period, if there is one. */
  #askToEnd(why: "timed_out" | "stopped"): void {
    const { graceMs = 0 } = this.#options;
    // Windows has no signal for this. A second reason to end does not extend the grace period.
    if (graceMs === 0 || platform() === "win32" || this.#endReason !== null) {
      const isTimeOut = why === "timed_out";
      this.#stop(isTimeOut ? { kind: why, ...this.#output() } : { kind: "aborted" });
      return;
    }
    this.#endReason = why;
    signalAll(this.#child, "SIGTERM");
    // If this process exits before the grace period ends (a second Ctrl-C), no later kill is possible.
    this.#release = beforeExit(this.#kill);
    this.#timers.push(
      setTimeout(this.#kill, graceMs),
      setTimeout(() => this.#stop({ kind: "aborted" }), graceMs + END_AFTER_KILL_MS),
    );
  }

  /** No chance to clean up: a second Ctrl-C may end this process at any moment. */
  #stop(end: ProgramEnd): void {
    this.#kill();
    this.#end(end);
  }

  #end(end: ProgramEnd): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#release();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#options.killSignal?.removeEventListener("abort", this.#onKill);
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
    this.#resolve(end);
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

/** The failure as a phrase that follows the program's name, with the end of standard error. */
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
      const result =
        end.killedBy === null ? `failed with exit code ${end.code}` : `was ended by ${end.killedBy}`;
      return `${result}${lastLines(end.stderr)}`;
    }
  }
}

/** The last lines of output on one line, after a colon. */
function lastLines(output: string): string {
  const lines = nonBlankLines(output).slice(-MAX_LINES).join(" / ");
  if (lines === "") return "";
  return `: ${lines.length > MAX_CHARACTERS ? `…${lines.slice(-MAX_CHARACTERS)}` : lines}`;
}

/** The non-blank lines, trimmed. */
export function nonBlankLines(text: string): string[] {
  return text
    .split(/\r?\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
