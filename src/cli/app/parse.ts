import { type Command, CommanderError } from "commander";
import { requireUtf8Arguments, requireUtf8Variables } from "../../client/valid-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Description } from "../help/command-tree.ts";
import { HELP, MANUAL, topicAsked } from "../help/topic-names.ts";
import { commandWords, type RunWith, showAnswer, withHelpHint } from "../session/command.ts";
import type { Context } from "../session/context.ts";
import type { GlobalOptions } from "../session/session.ts";
import { headingPaint } from "../text/colors.ts";
import type { Console } from "../text/console.ts";
import { globalFlag, refusedGlobals } from "./commands.ts";
import { fitHelp, helpColumns } from "./help-layout.ts";
import { buildProgram, namedCommand } from "./program.ts";

/** Dashes, quotes and blanks that a shell takes for letters. */
const TYPOGRAPHIC = /[\u00a0\u00ab\u00bb\u2007\u2010-\u201f\u202f\u2212]/;
/** A short option with a value, or an option's name behind one dash. */
const ONE_DASH = /^-[a-z][\w-]/;

/**
 * Parses a command line and runs the command that it names.
 * @param flags the words before `--`
 * @returns the exit code
 * @throws UsageError if the line makes no sense, or whatever the command throws
 */
export async function parseAndRun(
  argv: readonly string[],
  options: { flags: readonly string[]; json: boolean },
  console: Console,
  context: Context,
): Promise<number> {
  requireUtf8Arguments(argv);
  requireUtf8Variables(context.env);
  if (!options.flags.some((word) => TYPOGRAPHIC.test(word))) return runLine(argv, options, console, context);
  const { refuseTypographicDash, withTypographic } = await import("./usage-error.ts");
  refuseTypographicDash(options.flags);
  try {
    return await runLine(argv, options, console, context);
  } catch (error) {
    throw withTypographic(error, options.flags);
  }
}

async function runLine(
  argv: readonly string[],
  { flags, json }: { flags: readonly string[]; json: boolean },
  console: Console,
  context: Context,
): Promise<number> {
  const outcome = { exitCode: 0 };
  let output = "";
  const topic = topicAsked(flags);
  const all = flags.includes("--all");
  const columns = helpColumns(context.stdout, all || topic !== undefined);
  const show = (
    lines: readonly string[],
    isPaged = false,
    about: unknown = { ok: true, text: lines.join("\n") },
  ) =>
    showAnswer({ json: about, show: () => showLines(lines, isPaged, console, context) }, { json }, console);
  const onText = (text: string) => (output += text);
  const runWith = commandRunner(argv, context, console, outcome);
  const build = (inFull: boolean) => buildProgram(argv, { columns, onText, runWith }, inFull);
  if (topic === MANUAL) {
    const { manPage } = await import("../help/man-page.ts");
    return show(manPage(await describeProgram(build, [])));
  }
  if (topic !== undefined) {
    const { topicLines } = await import("../help/show-topic.ts");
    return show(topicLines(topic, columns), topic !== HELP);
  }
  const program = await build(false);
  if (flags.some((word) => ONE_DASH.test(word))) {
    (await import("./usage-error.ts")).refuseOneDash(flags, program);
  }
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // For `help` the parser takes its exit code from the process, which is a failure until the program has ended.
    const isHelp = HELP_CODES.has(error.code) && output !== "";
    if (error.exitCode !== 0 && !isHelp) {
      const { usageError } = await import("./usage-error.ts");
      throw usageError(error, flags, argv, program);
    }
    if (json && isHelp) return show([], false, await describeProgram(build, namedCommand(flags)));
  }
  if (output === "") return outcome.exitCode;
  // Help as it fits a terminal; for a program as the parser wrote it.
  const lines = json ? output.trimEnd().split("\n") : fitHelp(output.trimEnd(), columns, all);
  return show(lines, all);
}

async function describeProgram(
  build: (inFull: boolean) => Promise<Command>,
  words: readonly string[],
): Promise<Description> {
  const { describe } = await import("../help/command-tree.ts");
  return describe(await build(true), words, (name) => refusedGlobals(name).map(globalFlag));
}

/** Codes of the parser after help was shown: for the flag, and for the command. */
const HELP_CODES: ReadonlySet<string> = new Set(["commander.helpDisplayed", "commander.help"]);

/** Help or the version. @param isPaged on a terminal, in the user's pager */
async function showLines(
  lines: readonly string[],
  isPaged: boolean,
  console: Console,
  { stdout, env, page }: Context,
): Promise<void> {
  const paint = headingPaint(console.style("stdout"));
  const hasPager = isPaged && stdout.isTTY === true && env.TERM !== "dumb";
  if (hasPager && (await page(`${lines.map(paint).join("\n")}\n`))) return;
  await console.result(lines, paint);
}

function commandRunner(
  argv: readonly string[],
  context: Context,
  console: Console,
  outcome: { exitCode: number },
): RunWith {
  return (run) =>
    async (...args) => {
      // The parser's last argument.
      const command = args.at(-1) as Command;
      const options: GlobalOptions = command.optsWithGlobals();
      const { Session } = await import("../session/session.ts");
      try {
        refuseGlobals(command, options);
        await refuseEmptyPath(command);
        const result = await run(new Session(context, console, options, argv), ...args);
        outcome.exitCode = typeof result === "number" ? result : await showAnswer(result, options, console);
      } catch (error) {
        throw withHelpHint(command, error);
      }
    };
}

/** @throws UsageError for a global flag that the command does not take */
function refuseGlobals(command: Command, options: object): void {
  const [name = ""] = commandWords(command);
  const refused = refusedGlobals(name).find((each) => each in options);
  if (refused === undefined) return;
  const flag = globalFlag(refused);
  throw new UsageError(`imggen ${name} does not take ${flag}. Nothing was done.`, {
    hint: `Omit ${flag}.`,
  });
}

/** The kinds of arguments are loaded only if one is empty. @throws UsageError */
async function refuseEmptyPath(command: Command): Promise<void> {
  if (!command.args.includes("")) return;
  const { emptyPathArgument } = await import("../help/value-types.ts");
  const { requirePath } = await import("../../lib/home-folder.ts");
  const label = emptyPathArgument(command);
  if (label !== undefined) requirePath("", label);
}
