import type { Command, CommanderError } from "commander";
import { UsageError } from "../../lib/errors.ts";
import { withQuotedPrompt } from "./quoted-prompt.ts";
import { plainWords } from "./words.ts";

/** The parser's error as one of ours. @param words of `argv` before `--` */
export function usageError(
  error: CommanderError,
  words: readonly string[],
  argv: readonly string[],
  program: Command,
): UsageError {
  const name = plainWords(words)[0];
  const help = `See imggen ${name === undefined ? "" : `${name} `}--help.`;
  if (error.code === "commander.help") {
    return new UsageError(`imggen ${name} needs a subcommand.`, { hint: help, cause: error });
  }
  const command = program.commands.find((each) => each.name() === name);
  if (error.code === "commander.excessArguments" && command && TAKES_PROMPT.has(command.name())) {
    return tooManyPrompts(error, argv, command);
  }
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more.join(" ").replace(/^\(|\)$/g, "");
  return new UsageError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, "."), {
    hint: suggestion || help,
    cause: error,
  });
}

const TAKES_PROMPT: ReadonlySet<string> = new Set(["generate", "compare"]);

/** Prompts with blanks in them were quoted: then they are several, and else one without its quotes. */
function tooManyPrompts(cause: CommanderError, argv: readonly string[], command: Command): UsageError {
  if (!command.args.some((prompt) => /\s/.test(prompt))) {
    const hint = `Run: ${withQuotedPrompt(argv, command)}`;
    return new UsageError("The prompt must be one argument: quote it.", { hint, cause });
  }
  const hint = "For several, write each on a line of a file, and run: imggen batch prompts.txt";
  return new UsageError(`imggen ${command.name()} takes one prompt, not ${command.args.length}.`, {
    hint,
    cause,
  });
}
