import { errorCode } from "../../lib/error-text.ts";
import {
  environmentWithout,
  type ProgramEnd,
  type ProgramOptions,
  programFailure,
  runProgram,
} from "../../lib/run-program.ts";
import { clauseOf } from "../failures.ts";
import { type Failure, ProviderError, type SubmitHow } from "../provider.ts";
import { GRACE_MS, noteProcess } from "./left-command.ts";

/** The keys that imggen reads, and everything else of its own. */
const HIDDEN = /^(?:IMGGEN_.*|OPENAI_API_KEY)$/;

/** The exit code of a program that cannot work now, and may later (sysexits.h: EX_TEMPFAIL). */
const NOT_NOW = 75;

interface RunOptions
  extends Pick<ProgramOptions, "env" | "signal" | "killSignal">,
    Pick<SubmitHow, "onSent"> {
  /** Its scratch folder. */
  cwd: string;
}

/** Runs a generator's command until it ends, or is ended by the signal. */
export function runCommand(
  words: readonly string[],
  { onSent, ...options }: RunOptions,
): Promise<ProgramEnd> {
  const env = environmentWithout(HIDDEN, options.env);
  const onStarted = (pid: number) => {
    onSent();
    noteProcess(options.cwd, pid);
  };
  return runProgram(words, { ...options, env, graceMs: GRACE_MS, dropsOutput: true, onStarted });
}

/** Whether a command says that it has made its image. What it says too much is dropped. */
export function hasEndedWell(end: ProgramEnd): boolean {
  return (end.kind === "ended" || end.kind === "stopped") && end.code === 0;
}

/** What the end of a command means that has left no image. */
export function failureOf(
  end: ProgramEnd,
  program: string,
  facts: { isPaid: boolean; scratch: string },
): ProviderError {
  return new ProviderError(`The command ${phraseOf(end, program)}.`, kindOf(end, facts));
}

function phraseOf(end: ProgramEnd, program: string): string {
  if (end.kind === "aborted" || end.kind === "too_much_output") return "was given up";
  if (end.kind === "ended" && end.code === 0) return "exited with code 0, but wrote no image to {output}";
  const said = "stdout" in end && end.stderr.trim() === "" ? { ...end, stderr: end.stdout } : end;
  return clauseOf(programFailure(said, program));
}

/** One that is paid for and has run may have been charged, whatever it says but that it cannot work now. */
function kindOf(end: ProgramEnd, { isPaid, scratch }: { isPaid: boolean; scratch: string }): Failure {
  if (end.kind === "not_started") {
    // Arguments that no program can be given: too long, or with a NUL character.
    const cannotBe = /^(?:E2BIG|ERR_.*)$/.test(errorCode(end.error) ?? "");
    return { kind: cannotBe ? "invalid" : "unsent" };
  }
  const lost = { kind: "lost", kept: isPaid ? scratch : null } as const;
  if (end.kind !== "ended") return { ...lost, isStopped: end.kind === "stopped" };
  if (end.code === NOT_NOW) return { kind: "unsent" };
  // Killed by something else, such as a lack of memory, it may fare better the next time.
  return isPaid || end.killedBy !== null ? { ...lost, isStopped: true } : { kind: "refused" };
}
