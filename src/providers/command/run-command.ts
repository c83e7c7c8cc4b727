import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/error-text.ts";
import { jsonOrNull } from "../../lib/json.ts";
import { identityOf, type ProcessIdentity, signalGroup, systemProcesses } from "../../lib/processes.ts";
import {
  environmentWithout,
  type ProgramEnd,
  type ProgramOptions,
  programFailure,
  runProgram,
} from "../../lib/run-program.ts";
import { GeneratorError, type GeneratorFailure, TimeLimitError } from "../generator.ts";

/** The keys that imggen reads, and everything else of its own. */
const HIDDEN = /^(?:IMGGEN_.*|OPENAI_API_KEY)$/;

/** How long a command has to end by itself after its time limit. */
const GRACE_MS = 5_000;

interface RunOptions extends Pick<ProgramOptions, "env" | "timeoutMs" | "signal"> {
  /** Its working folder. */
  cwd: string;
  isPaid: boolean;
}

/** Runs a generator's command. @throws GeneratorError unless it ends well; the signal's reason */
export async function runCommand(words: readonly string[], options: RunOptions): Promise<void> {
  options.signal.throwIfAborted();
  const env = environmentWithout(HIDDEN, options.env);
  const { signal, release } = besidesTimeLimit(options.signal);
  const onStarted = (pid: number) => noteProcess(options.cwd, pid);
  const how = { ...options, env, signal, graceMs: GRACE_MS, dropsOutput: true, onStarted };
  const end = await runProgram(words, how).finally(release);
  if (end.kind === "aborted") throw options.signal.reason;
  // What it says too much is dropped.
  if (end.kind === "too_much_output" || (end.kind === "ended" && end.code === 0)) return;
  const said = "stdout" in end && end.stderr.trim() === "" ? { ...end, stderr: end.stdout } : end;
  const what = programFailure(said, words[0] ?? "", options.timeoutMs).replace(/\.$/, "");
  throw new GeneratorError(`The command ${what}.`, failureOf(end, options.isPaid));
}

/** A job's signal, but for the time limit: that is the program's own too, and asks it to end before it is killed. */
function besidesTimeLimit(signal: AbortSignal): { signal: AbortSignal; release: () => void } {
  const others = new AbortController();
  const pass = () => {
    if (!(signal.reason instanceof TimeLimitError)) others.abort(signal.reason);
  };
  signal.addEventListener("abort", pass, { once: true });
  return { signal: others.signal, release: () => signal.removeEventListener("abort", pass) };
}

/** What a command's end means. One that is paid for and has run may have been charged, whatever it says. */
function failureOf(
  end: Exclude<ProgramEnd, { kind: "aborted" | "too_much_output" }>,
  isPaid: boolean,
): GeneratorFailure {
  if (end.kind === "not_started") {
    // Arguments that no program can be given: too long, or with a NUL character.
    const cannotBe = /^(?:E2BIG|ERR_.*)$/.test(errorCode(end.error) ?? "");
    return { kind: cannotBe ? "refused" : "unreachable" };
  }
  // Killed by something else, such as a lack of memory, it may fare better the next time; after a time-out it would not.
  const isKilled = end.kind === "ended" && end.killedBy !== null;
  return { kind: isPaid || isKilled ? "lost" : "refused" };
}

/** Names a command's process, in its working folder. */
const PROCESS_FILE = ".process";

/** Notes the process of a command, so that it can be found where this process is killed and it runs on. */
function noteProcess(folder: string, pid: number): void {
  const identity = identityOf(pid);
  if (identity !== null)
    writeFileSync(path.join(folder, PROCESS_FILE), JSON.stringify(identity), { mode: 0o600 });
}

/** Kills a command that a killed process has left behind, and what it has started: nobody waits for its image. */
export function endLeftProcess(folder: string): void {
  const left = noted(path.join(folder, PROCESS_FILE));
  // The group of process 1 would be every process: no note of ours names it.
  if (left !== null && left.pid > 1 && systemProcesses().isAlive(left)) signalGroup(left.pid, "SIGKILL");
}

/** null if there is none, or a crash cut it short. */
function noted(file: string): ProcessIdentity | null {
  try {
    return jsonOrNull(readFileSync(file, "utf8")) as ProcessIdentity | null;
  } catch {
    return null;
  }
}
