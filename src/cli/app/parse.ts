import { type Command, CommanderError } from "commander";
import { requireUtf8Arguments, requireUtf8Variables } from "../../client/valid-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Description } from "../help/command-tree.ts";
import { HELP, MANUAL, requestedTopic } from "../help/topic-names.ts";
import { commandWords, type RunWith, showAnswer, withHelpHint } from "../session/command.ts";
import type { Context } from "../session/context.ts";
import type { GlobalOptions } from "../session/session.ts";
import { headingPaint } from "../text/colors.ts";
import type { Console } from "../text/console.ts";
import { globalFlag, refusedGlobals } from "./commands.ts";
import { fitHelp, helpColumns } from "./help-layout.ts";
import { buildProgram, namedCommand } from "./program.ts";

/** Typographic dashes, quotes and spaces, which a shell treats as ordinary letters. */
const TYPOGRAPHIC = /[\u00a0\u00ab\u00bb\u2007\u2010-\u201f\u202f\u2212]/;
/** A short option with its value, or a long option that was typed with a single dash by mistake. */
const SINGLE_DASH_OPTION = /^-[a-z][\w-]/;

/**
 * @param options.flags the arguments before `--`
 * @returns the exit code
 * @throws UsageError if the command line is invalid, and the errors of the command
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
  const { rejectTypographicDash, explainTypographic } = await import("./usage-error.ts");
  rejectTypographicDash(options.flags);
  try {
    return await runLine(argv, options, console, context);
  } catch (error) {
    throw explainTypographic(error, options.flags);
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
  const topic = requestedTopic(flags);
  const all = flags.includes("--all");
  const columns = helpColumns(context.stdout, all || topic !== undefined);
  const show = (
    lines: readonly string[],
    usesPager = false,
    document: unknown = { ok: true, text: lines.join("\n") },
  ) =>
    showAnswer(
      { json: document, show: () => showLines(lines, usesPager, console, context) },
      { json },
      console,
    );
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
  if (flags.some((word) => SINGLE_DASH_OPTION.test(word))) {
    (await import("./usage-error.ts")).rejectSingleDash(flags, program);
  }
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help is recognized by its error code, because the exit code of the error for `help` is a failure at this time.
    const isHelp = HELP_CODES.has(error.code) && output !== "";
    if (error.exitCode !== 0 && !isHelp) {
      const { usageError } = await import("./usage-error.ts");
      throw usageError(error, flags, argv, program);
    }
    if (json && isHelp) return show([], false, await describeProgram(build, namedCommand(flags)));
  }
  if (output === "") return outcome.exitCode;
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

const HELP_CODES: ReadonlySet<string> = new Set(["commander.helpDisplayed", "commander.help"]);

async function showLines(
  lines: readonly string[],
  usesPager: boolean,
  console: Console,
  { stdout, env, page }: Context,
): Promise<void> {
  const paint = headingPaint(console.style("stdout"));
  const hasPager = usesPager && stdout.isTTY === true && env.TERM !== "dumb";
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
      const command = args.at(-1) as Command;
      const options: GlobalOptions = command.optsWithGlobals();
      const { Session } = await import("../session/session.ts");
      try {
        rejectUnsupportedGlobals(command, options);
        await rejectEmptyPath(command);
        const result = await run(new Session(context, console, options, argv), ...args);
        outcome.exitCode = typeof result === "number" ? result : await showAnswer(result, options, console);
      } catch (error) {
        throw withHelpHint(command, error);
      }
    };
}

/** @throws UsageError for a global flag that the command does not support */
function rejectUnsupportedGlobals(command: Command, options: object): void {
  const [name = ""] = commandWords(command);
  const unsupportedName = refusedGlobals(name).find((each) => each in options);
  if (unsupportedName === undefined) return;
  const flag = globalFlag(unsupportedName);
  throw new UsageError(`imggen ${name} does not support ${flag}. Nothing was done.`, {
    hint: `Omit ${flag}.`,
  });
}

/** @throws UsageError if an argument that must be a path is empty */
async function rejectEmptyPath(command: Command): Promise<void> {
  if (!command.args.includes("")) return;
  const { emptyPathArgument } = await import("../help/value-types.ts");
  const { requirePath } = await import("../../lib/home-folder.ts");
  const label = emptyPathArgument(command);
  if (label !== undefined) requirePath("", label);
}
