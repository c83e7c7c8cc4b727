import { type Command, CommanderError } from "commander";
import type { Description } from "../help/command-tree.ts";
import { type HELP, MANUAL, type TopicName, topicAsked } from "../help/topic-names.ts";
import type { Context } from "../session/context.ts";
import type { Console } from "../text/console.ts";
import { isCommand, refusedGlobals } from "./commands.ts";
import { fitHelp, helpColumns, isHeading } from "./help-layout.ts";
import { buildProgram, namedCommand } from "./program.ts";

/**
 * Parses a command line and runs the command that it names.
 * @param flags the words before `--`
 * @returns the exit code
 * @throws UsageError if the line makes no sense, or whatever the command throws
 */
export async function parseAndRun(
  argv: readonly string[],
  { flags, json }: { flags: readonly string[]; json: boolean },
  console: Console,
  context: Context,
): Promise<number> {
  const outcome = { exitCode: 0 };
  let shown = "";
  const build = (inFull: boolean) => buildProgram(argv, context, outcome, (text) => (shown += text), inFull);
  const topic = topicAsked(flags);
  if (topic === MANUAL) {
    const { manPage } = await import("../help/man-page.ts");
    await showLines(manPage(await describeProgram(build, [])), json, console);
    return 0;
  }
  if (topic !== undefined && !isCommand(topic)) {
    await showLines(await topicText(topic, context), json, console);
    return 0;
  }
  const program = await build(false);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // For `help` the parser takes its exit code from the process, whose code says failure until the program has ended.
    const isHelp = HELP_CODES.has(error.code) && shown !== "";
    if (error.exitCode !== 0 && !isHelp) {
      const { usageError } = await import("./usage-error.ts");
      throw usageError(error, flags, argv, program);
    }
    if (json && isHelp) {
      await console.json(await describeProgram(build, namedCommand(flags)));
      return 0;
    }
  }
  const lines = shown === "" ? [] : linesOf(shown.trimEnd(), json, context);
  if (topic !== undefined) lines.push("", ...(await topicText(topic, context)));
  if (lines.length > 0) await showLines(lines, json, console);
  return outcome.exitCode;
}

async function describeProgram(
  build: (inFull: boolean) => Promise<Command>,
  words: readonly string[],
): Promise<Description> {
  const { describe } = await import("../help/command-tree.ts");
  return describe(await build(true), words, refusedGlobals);
}

async function topicText(topic: TopicName | typeof HELP, context: Context): Promise<string[]> {
  const { topicText } = await import("../help/show-topic.ts");
  return topicText(topic, helpColumns(context.stdout));
}

/** What the parser says when it has shown help: for the flag, and for the command. */
const HELP_CODES: ReadonlySet<string> = new Set(["commander.helpDisplayed", "commander.help"]);

/** Help as it fits a terminal; for a program as the parser wrote it. */
function linesOf(text: string, json: boolean, context: Context): string[] {
  return json ? text.split("\n") : fitHelp(text, helpColumns(context.stdout));
}

/** Help or the version, as text or as the one JSON document. */
async function showLines(lines: readonly string[], json: boolean, console: Console): Promise<void> {
  if (json) return console.json({ ok: true, text: lines.join("\n") });
  const style = console.style("stdout");
  await console.result(lines, (line) => (isHeading(line) ? style("heading", line) : line));
}
