import { errorCode } from "../../lib/error-text.ts";
import {
  environmentWithout,
  type ProgramEnd,
  type ProgramOptions,
  programFailure,
  runProgram,
} from "../../lib/run-program.ts";
import { clauseOf } from "../failures.ts";
import { type Failure, ProviderError, type SubmitHow, unsendable } from "../provider.ts";
import { GRACE_MS, noteProcess } from "./left-command.ts";

/** Everything of imggen's own, its keys included. */
const OWN_VARIABLES = /^IMGGEN_/;

/** The exit code of a program that cannot work now, and may later (sysexits.h: EX_TEMPFAIL). */
const NOT_NOW = 75;

interface RunOptions
  extends Pick<ProgramOptions, "env" | "signal" | "killSignal">,
    Pick<SubmitHow, "onSent"> {
  /** Its scratch folder. */
  cwd: string;
  /** Variables that it does not see: those of the providers' keys. */
  hidden: readonly string[];
  /** Variables of `--generator-header`, which it sees although they may be hidden. */
  given: Readonly<Record<string, string>>;
}

/** Runs a generator's command until it ends, or is ended by the signal. */
export function runCommand(
  words: readonly string[],
  { onSent, hidden, given, ...options }: RunOptions,
): Promise<ProgramEnd> {
  const isHidden = (name: string) => OWN_VARIABLES.test(name) || hidden.includes(name);
  const env = { ...environmentWithout(isHidden, options.env), ...given };
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

/** What the end of a command means that has left no image. @param facts.hidden set variables that it has not seen */
export function failureOf(
  end: ProgramEnd,
  program: string,
  { hidden, promptBytes, ...facts }: FailureFacts,
): ProviderError {
  if (promptBytes !== null && end.kind === "not_started" && TOO_LONG.has(errorCode(end.error) ?? ""))
    return unsendable(`The prompt of ${Math.ceil(promptBytes / 1000)} kB is too long for an argument.`, {
      hint: "Nothing was run or charged. Use {promptFile} in place of {prompt}: the file holds a prompt of any length.",
      cause: end.error,
    });
  const phrase = phraseOf(end, program);
  const [name] = hidden;
  const hint = `A command does not see the variable ${name}. If it needs the key: --generator-header ${name}=${name}`;
  const lacksKey = name !== undefined && "stderr" in end && ABOUT_KEY.test(`${end.stderr}${end.stdout}`);
  return new ProviderError(`The command ${phrase}.`, kindOf(end, facts), lacksKey ? { hint } : {});
}

interface FailureFacts {
  isPaid: boolean;
  scratch: string;
  /** Variables with a key that are set, and that it does not see. */
  hidden: readonly string[];
  /** Size of a prompt that was one of its arguments, in bytes; null if it was none. */
  promptBytes: number | null;
}

/** Error codes of a command line that is too long, the second one on Windows. */
const TOO_LONG: ReadonlySet<string> = new Set(["E2BIG", "ENAMETOOLONG"]);

/** Words of a program that lacks a key. */
const ABOUT_KEY = /key|token|auth|credential|\b40[13]\b/i;

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
