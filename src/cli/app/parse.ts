import { CommanderError } from "commander";
import type { Console } from "../output/console.ts";
import type { Context } from "./context.ts";
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
  const program = await build(false);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) {
      const { usageError } = await import("./usage-error.ts");
      throw usageError(error, flags, argv, program);
    }
    if (json && HELP_CODES.has(error.code)) {
      const { describe } = await import("../help/describe.ts");
      await console.json(describe(await build(true), namedCommand(flags)));
      return 0;
    }
  }
  if (shown !== "") await showText(shown.trimEnd(), json, console, context);
  return outcome.exitCode;
}

/** What the parser says when it has shown help: for the flag, and for the command. */
const HELP_CODES: ReadonlySet<string> = new Set(["commander.helpDisplayed", "commander.help"]);

/** Help or the version, as text or as the one JSON document. */
async function showText(text: string, json: boolean, console: Console, context: Context): Promise<void> {
  if (json) return console.json({ ok: true, text });
  const lines = fitHelp(text, helpColumns(context.stdout));
  const style = await console.style("stdout");
  await console.result(lines, (line) => (isHeading(line) ? style("heading", line) : line));
}
