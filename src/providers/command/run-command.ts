import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { isPresent } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { inspectFile } from "../../lib/image/inspect.ts";
import { jsonOrNull } from "../../lib/json.ts";
import {
  identifyProcess,
  type ProcessIdentity,
  parseIdentity,
  signalGroup,
  systemProcesses,
} from "../../lib/processes.ts";
import {
  filterEnvironment,
  type ProgramEnd,
  type ProgramOptions,
  programFailure,
  runProgram,
} from "../../lib/run-program.ts";
import { option, phrase } from "../../lib/wording.ts";
import { toClause } from "../failures.ts";
import {
  type Failure,
  type Job,
  ProviderError,
  type SubmitOptions,
  type SubmitReply,
  TimeLimitError,
  unsendable,
} from "../provider.ts";
import { clearScratch, hasImage, keepImage, removeScratch, scratchFolder, writtenFile } from "./scratch.ts";

/** Matches imggen's own environment variables, some of which contain API keys. */
const OWN_VARIABLES = /^IMGGEN_/;

/** Exit code for a temporary failure (EX_TEMPFAIL in sysexits.h). */
const TEMPORARY_FAILURE = 75;

interface RunOptions
  extends Pick<ProgramOptions, "env" | "signal" | "killSignal">,
    Pick<SubmitOptions, "onSent"> {
  /** The job's scratch folder. */
  cwd: string;
  hidden: readonly string[];
  /** Environment variables from `--generator-header`. The command gets them even if `hidden` contains their names. */
  headerVariables: Readonly<Record<string, string>>;
}

export function runCommand(
  words: readonly string[],
  { onSent, hidden, headerVariables, ...options }: RunOptions,
): Promise<ProgramEnd> {
  const isHidden = (name: string) => OWN_VARIABLES.test(name) || hidden.includes(name);
  const env = { ...filterEnvironment(isHidden, options.env), ...headerVariables };
  const onStarted = (pid: number) => {
    onSent();
    noteProcess(options.cwd, pid);
  };
  return runProgram(words, { ...options, env, graceMs: GRACE_MS, dropsOutput: true, onStarted });
}

/** Whether a command exited with code 0, even after a signal to stop. */
export function hasSucceeded(end: ProgramEnd): boolean {
  return (end.kind === "ended" || end.kind === "stopped") && end.code === 0;
}

/** The error for a command that wrote no image. */
export function commandFailure(
  end: ProgramEnd,
  program: string,
  { hidden, promptBytes, ...facts }: FailureFacts,
): ProviderError {
  if (promptBytes !== null && end.kind === "not_started" && TOO_LONG.has(errorCode(end.error) ?? ""))
    return unsendable(`The prompt of ${Math.ceil(promptBytes / 1000)} kB is too long for an argument.`, {
      hint: "Nothing was run or charged. Use {promptFile} in place of {prompt}: the file can contain a prompt of any length.",
      cause: end.error,
    });
  const [name = ""] = hidden;
  const hint = phrase`The command cannot see the variable ${name}. If the command needs this key, add: ${option("generatorHeader")} ${name}=${name}`;
  const lacksKey = name !== "" && "stderr" in end && ABOUT_KEY.test(`${end.stderr}${end.stdout}`);
  const message = `The command ${describeEnd(end, program)}.`;
  return new ProviderError(message, classifyEnd(end, facts), lacksKey ? { hint } : {});
}

interface FailureFacts {
  isPaid: boolean;
  scratch: string;
  /** Names of API key variables that are set for imggen, but hidden from the command. */
  hidden: readonly string[];
  /** Size of the prompt if it was an argument, otherwise null. */
  promptBytes: number | null;
}

/** Error codes for arguments that are too long. Windows uses ENAMETOOLONG. */
const TOO_LONG: ReadonlySet<string> = new Set(["E2BIG", "ENAMETOOLONG"]);

const ABOUT_KEY = /key|token|auth|credential|\b40[13]\b/i;

function describeEnd(end: ProgramEnd, program: string): string {
  if (end.kind === "aborted" || end.kind === "too_much_output") return "was aborted";
  if (end.kind === "ended" && end.code === 0) return "exited with code 0, but wrote no image to {output}";
  const result = "stdout" in end && end.stderr.trim() === "" ? { ...end, stderr: end.stdout } : end;
  return toClause(programFailure(result, program));
}

/** A paid command that ran might have been charged, unless its exit code means a temporary failure. */
function classifyEnd(end: ProgramEnd, { isPaid, scratch }: { isPaid: boolean; scratch: string }): Failure {
  if (end.kind === "not_started") {
    // The arguments are too long (E2BIG), or Node.js refused them (ERR_…), for example because of a NUL character.
    const isInvalid = /^(?:E2BIG|ERR_.*)$/.test(errorCode(end.error) ?? "");
    return { kind: isInvalid ? "invalid" : "unsent" };
  }
  const failure = { kind: "lost", savedPath: isPaid ? scratch : null } as const;
  if (end.kind !== "ended") return { ...failure, isStopped: end.kind === "stopped" };
  if (end.code === TEMPORARY_FAILURE) return { kind: "unsent" };
  // A killed free command is `lost` and not `refused`, because a retry might succeed, for example with more memory.
  return isPaid || end.killedBy !== null ? { ...failure, isStopped: true } : { kind: "refused" };
}

// Recovery after imggen was killed while its command was running. The command might still run.

/** File in the scratch folder with the identity of the command's process. */
const PROCESS_FILE = ".process";

const CHECK_EVERY_MS = 200;
/** Grace period before a command is killed. */
const GRACE_MS = 5_000;

/** Lets another imggen process recover the command after a crash. Never throws. */
function noteProcess(scratch: string, pid: number): void {
  const identity = identifyProcess(pid);
  if (identity === null) return;
  try {
    writeFileSync(path.join(scratch, PROCESS_FILE), JSON.stringify(identity), { mode: 0o600 });
  } catch {
    // A failure is ignored, because only recovery after a crash needs the file, and the command already runs.
  }
}

/**
 * Waits for a paid command until the signal aborts, and kills a free one, because it can run again at no cost. A
 * complete image counts as success, because the exit code is lost.
 * @returns null if the outcome is unknown @throws ProviderError (lost)
 */
export async function recoverCommand(
  job: Job,
  signal: AbortSignal,
  clock: Pick<Clock, "sleep">,
): Promise<SubmitReply | null> {
  const completed = { outcome: "made", usage: null } as const;
  if (hasImage(job)) return completed;
  const scratch = scratchFolder(job);
  if (!isPresent(scratch)) return null;
  const identity = readProcessFile(path.join(scratch, PROCESS_FILE));
  const isKilled = identity !== null && !job.isPaid && isRunning(identity);
  if (isKilled) signalGroup(identity.pid, "SIGKILL");
  else if (identity !== null && !(await hasEnded(identity, signal, clock)))
    throw lostImage("The command is still running", { savedPath: scratch, isStopped: false });
  const file = isKilled ? null : await writtenFile(scratch);
  const isImage = file !== null && inspectFile(file).ok;
  if (isImage) await keepImage(file, job);
  if (isImage) await clearScratch(job);
  else if (!job.isPaid) await removeScratch(scratch);
  if (isImage) return completed;
  if (!job.isPaid || identity === null) return null;
  throw lostImage("The command exited, but wrote no complete image", { savedPath: scratch, isStopped: true });
}

export function isCommandRunning(job: Job): boolean {
  const identity = readProcessFile(path.join(scratchFolder(job), PROCESS_FILE));
  return identity !== null && isRunning(identity);
}

function lostImage(what: string, facts: { savedPath: string; isStopped: boolean }): ProviderError {
  return new ProviderError(`${what}.`, { kind: "lost", ...facts });
}

function isRunning(identity: ProcessIdentity): boolean {
  // Process 1 is excluded, because a signal to the group of process 1 would reach every process.
  return identity.pid > 1 && systemProcesses().isAlive(identity) === true;
}

/** Waits until the process exits or the signal aborts. After a time limit, terminates the process. */
async function hasEnded(
  identity: ProcessIdentity,
  signal: AbortSignal,
  clock: Pick<Clock, "sleep">,
): Promise<boolean> {
  while (isRunning(identity) && !signal.aborted) await clock.sleep(CHECK_EVERY_MS, signal).catch(() => {});
  if (!isRunning(identity)) return true;
  if (!(signal.reason instanceof TimeLimitError)) return false;
  for (const kind of ["SIGTERM", "SIGKILL"] as const) {
    signalGroup(identity.pid, kind);
    for (let waitedMs = 0; waitedMs < GRACE_MS && isRunning(identity); waitedMs += CHECK_EVERY_MS)
      await clock.sleep(CHECK_EVERY_MS);
  }
  return !isRunning(identity);
}

/** Returns null if the file is missing, or incomplete after a crash. */
function readProcessFile(file: string): ProcessIdentity | null {
  try {
    return parseIdentity(jsonOrNull(readFileSync(file, "utf8")));
  } catch {
    return null;
  }
}
