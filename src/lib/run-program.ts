import { type ChildProcessByStdio, spawn } from "node:child_process";
import { platform } from "node:os";
import type { Readable } from "node:stream";
import { formatDuration } from "./duration.ts";
import { errorText } from "./error-text.ts";
import { beforeExit, signalGroup } from "./processes.ts";

/** Removes secret variables. `isHidden` receives names in capitals, because Windows ignores letter case. */
export function filterEnvironment(
  isHidden: (name: string) => boolean,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isHidden(name.toUpperCase())));
}

export interface ProgramOptions {
  env: Record<string, string | undefined>;
  /** Default: no limit. */
  timeoutMs?: number;
  signal: AbortSignal;
  /** Kills the program immediately, even during the grace period. */
  killSignal?: AbortSignal;
  onStarted?: (pid: number) => void;
  cwd?: string;
  /** Grace period after a timeout or an abort. Default: 0, which kills the program immediately. */
  graceMs?: number;
  /** Whether only the last part of a long standard output is returned. By default, a long output kills the program. */
  dropsOutput?: boolean;
}

export type ProgramEnd =
  | { kind: "ended"; code: number | null; killedBy: string | null; stdout: string; stderr: string }
  | { kind: "not_started"; error: unknown }
  | { kind: "timed_out"; stdout: string; stderr: string }
  | { kind: "too_much_output" }
  /** The program ended in the grace period after an abort. `code` is null if it was killed. */
  | { kind: "stopped"; code: number | null; stdout: string; stderr: string }
  | { kind: "aborted" };

const MAX_STDOUT_BYTES = 64 * 1024;
const MAX_STDERR_BYTES = 8 * 1024;

/** Maximum wait for the end of the output after the exit. A child process of the program could delay it forever. */
const OUTPUT_AFTER_EXIT_MS = 1_000;

const END_AFTER_KILL_MS = 5_000;

/**
 * Runs a program without a shell or standard input. The program has its own process group, so that Ctrl-C reaches it
 * only through `signal`, and a kill also ends its child processes.
 * @throws only errors of `onStarted`
 */
export async function runProgram(command: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const [program = "", ...args] = command;
  const { env, cwd, signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  let child: Child;
  try {
    const detached = platform() !== "win32";
    child = spawn(program, args, { env, cwd, stdio, detached, windowsHide: true });
  } catch (error) {
    return { kind: "not_started", error };
  }
  const ending = new Promise<ProgramEnd>((resolve) => new Run(child, options, resolve));
  if (child.pid !== undefined) options.onStarted?.(child.pid);
  return ending;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

class Run {
  readonly #child: Child;
  readonly #options: ProgramOptions;
  readonly #resolve: (end: ProgramEnd) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #stdout = Buffer.alloc(0);
  #stderr = Buffer.alloc(0);
  #endReason: "timed_out" | "stopped" | null = null;
  #release = () => {};

  constructor(child: Child, options: ProgramOptions, resolve: (end: ProgramEnd) => void) {
    this.#child = child;
    this.#options = options;
    this.#resolve = resolve;
    if (options.timeoutMs !== undefined)
      this.#timers.push(setTimeout(() => this.#requestEnd("timed_out"), options.timeoutMs));
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    options.killSignal?.addEventListener("abort", this.#onKill, { once: true });
    child.stdout.on("data", (chunk: Buffer) => this.#collectOutput(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-MAX_STDERR_BYTES);
    });
    child.on("error", (error) => this.#end({ kind: "not_started", error }));
    child.on("exit", (code, killedBy) => {
      const endReason = this.#endReason;
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

  readonly #onAbort = () => this.#requestEnd("stopped");
  readonly #onKill = () => (this.#endReason === null ? this.#stop({ kind: "aborted" }) : this.#kill());
  readonly #kill = () => signalAll(this.#child, "SIGKILL");

  #requestEnd(reason: "timed_out" | "stopped"): void {
    const { graceMs = 0 } = this.#options;
    // Kills at once on Windows, which has no SIGTERM, and for a second reason, which must not extend the grace period.
    if (graceMs === 0 || platform() === "win32" || this.#endReason !== null) {
      const isTimeOut = reason === "timed_out";
      this.#stop(isTimeOut ? { kind: reason, ...this.#output() } : { kind: "aborted" });
      return;
    }
    this.#endReason = reason;
    signalAll(this.#child, "SIGTERM");
    // Kills the program if this process exits during the grace period, for example after a second Ctrl-C.
    this.#release = beforeExit(this.#kill);
    this.#timers.push(
      setTimeout(this.#kill, graceMs),
      setTimeout(() => this.#stop({ kind: "aborted" }), graceMs + END_AFTER_KILL_MS),
    );
  }

  /** Kills the program and does not wait for its exit, because a second Ctrl-C can end this process at any moment. */
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
    const args = ["/pid", String(pid), "/T", "/F"];
    spawn("taskkill", args, { stdio: "ignore", windowsHide: true }).on("error", () => {});
  } else signalGroup(pid, signal);
}

const MAX_LINES = 3;
const MAX_CHARACTERS = 300;

/** Describes a failure by a text that follows the program's name: `failed with exit code 1: <last lines of stderr>`. */
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
      return `was stopped before it ended${lastLines(end.stderr)}`;
    case "ended": {
      const result =
        end.killedBy === null ? `failed with exit code ${end.code}` : `was ended by ${end.killedBy}`;
      return `${result}${lastLines(end.stderr)}`;
    }
  }
}

function lastLines(output: string): string {
  const lines = nonBlankLines(output).slice(-MAX_LINES).join(" / ");
  if (lines === "") return "";
  return `: ${lines.length > MAX_CHARACTERS ? `…${lines.slice(-MAX_CHARACTERS)}` : lines}`;
}

export function nonBlankLines(text: string): string[] {
  return text
    .split(/\r?\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
