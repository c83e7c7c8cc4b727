import { CommanderError } from "commander";
import { InterruptedError } from "../core/errors.ts";
import { UsageError } from "../lib/errors.ts";
import { Console } from "./console.ts";
import type { Context } from "./context.ts";
import { buildProgram } from "./program.ts";

/**
 * Runs one command line. Whatever happens ends here: as an exit code, with the result on standard output and
 * one clear word on standard error.
 */
export async function run(argv: readonly string[], context: Context): Promise<number> {
  // Read by hand, because an error in the command line must be told in JSON too.
  const end = argv.indexOf("--");
  const flags = end === -1 ? argv : argv.slice(0, end);
  const json = flags.includes("--json");
  const color = !flags.includes("--no-color");
  const console = new Console(context, { quiet: false });
  let shown = "";
  context.lastWord = async ({ signal }) => {
    if (console.hasAnswered) return;
    const hint = "What may have been charged: imggen history. What was paid for: imggen resume";
    const error = new InterruptedError(signal, { charged: "unknown", hint });
    await reportFailure(error, { json, color }, console, context);
  };
  try {
    const outcome = { exitCode: 0 };
    const program = await buildProgram(argv, context, outcome, (text) => {
      shown += text;
    });
    try {
      await program.parseAsync(argv, { from: "user" });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0) throw usageError(error, flags);
      await showText(shown, json, console);
    }
    return outcome.exitCode;
  } catch (error) {
    return await reportFailure(error, { json, color }, console, context);
  }
}

/** `--help` and `--version`, as text or as the one JSON document. */
async function showText(text: string, json: boolean, console: Console): Promise<void> {
  if (!json) return console.resultBytes(text);
  const { toJson } = await import("./json.ts");
  await console.result(toJson({ ok: true, text: text.trimEnd() }));
}

async function reportFailure(
  error: unknown,
  { json, color }: { json: boolean; color: boolean },
  console: Console,
  context: Context,
): Promise<number> {
  const { describeFailure, failureLines } = await import("./failure.ts");
  const failure = describeFailure(error);
  if (json) {
    const { failureJson, toJson } = await import("./json.ts");
    const told = console.result(toJson(failureJson(failure)));
    // Standard output itself is what failed: standard error is left.
    await told.catch(() => console.error(failureLines(failure)));
  } else {
    const { colorsFor } = await import("./format.ts");
    await console.error(failureLines(failure, colorsFor(context.stderr, context.env, color).red));
  }
  return failure.exitCode;
}

/** The parser's complaint in our form. */
function usageError(error: CommanderError, words: readonly string[]): UsageError {
  const command = words.find((word) => !word.startsWith("-"));
  const help = `See imggen ${command === undefined ? "" : `${command} `}--help.`;
  if (error.code === "commander.help") {
    return new UsageError(`imggen ${command} needs to be told what to do.`, { hint: help, cause: error });
  }
  if (error.code === "commander.excessArguments" && command === "generate") {
    return new UsageError("The prompt is more than one word to the shell.", {
      hint: 'Put it in quotes: imggen generate "a red fox"',
      cause: error,
    });
  }
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more.join(" ").replace(/^\(|\)$/g, "");
  return new UsageError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, "."), {
    hint: suggestion || help,
    cause: error,
  });
}
