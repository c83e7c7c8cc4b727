import { CommanderError } from "commander";
import type { Console } from "../output/console.ts";
import type { Context } from "./context.ts";
import { buildProgram } from "./program.ts";

/**
 * Parses a command line and runs the command that it names.
 * @param flags the words before `--`
 * @returns the exit code
 * @throws UsageError where the line makes no sense, or whatever the command throws
 */
export async function parseAndRun(
  argv: readonly string[],
  { flags, json }: { flags: readonly string[]; json: boolean },
  console: Console,
  context: Context,
): Promise<number> {
  const outcome = { exitCode: 0 };
  let shown = "";
  const program = await buildProgram(argv, context, outcome, (text) => {
    shown += text;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) {
      const { usageError } = await import("./usage-error.ts");
      throw usageError(error, flags, argv, program);
    }
    await showText(shown, json, console);
  }
  return outcome.exitCode;
}

/** `--help` and `--version`, as text or as the one JSON document. */
async function showText(text: string, json: boolean, console: Console): Promise<void> {
  if (json) await console.json({ ok: true, text: text.trimEnd() });
  else await console.result(text.replace(/\n$/, "").split("\n"));
}
