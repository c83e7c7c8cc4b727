import type { Command, CommanderError } from "commander";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { editDistance } from "../../models/edit-distance.ts";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { plainWords } from "../session/command.ts";
import { COMMANDS } from "./commands.ts";

/** The parser's error as one of ours. @param words of `argv` before `--` */
export function usageError(
  error: CommanderError,
  words: readonly string[],
  argv: readonly string[],
  program: Command,
): UsageError {
  const [name, second] = plainWords(words);
  const command = program.commands.find((each) => each.name() === name);
  const subcommand = command?.commands.find((each) => each.name() === second);
  const help = `See ${["imggen", name, subcommand?.name(), "--help"].filter(Boolean).join(" ")}.`;
  if (error.code === "commander.help") {
    return new UsageError(`imggen ${name} needs a subcommand.`, { hint: help, cause: error });
  }
  if (error.code === "commander.excessArguments" && second && command?.commands.length) {
    const names = command.commands.map((each) => each.name());
    return unknownSubcommand(name ?? "", second, names, error);
  }
  if (error.code === "commander.excessArguments" && command && TAKES_PROMPT.has(command.name())) {
    return tooManyPrompts(error, argv, command);
  }
  if (error.code === "commander.excessArguments" && name === "login") return keyAsArgument(error);
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = more.join(" ").replace(/^\(|\)$/g, "");
  return new UsageError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, "."), {
    hint: suggestion || help,
    cause: error,
  });
}

function unknownSubcommand(
  name: string,
  word: string,
  names: readonly string[],
  cause: CommanderError,
): UsageError {
  const near = nearest(word, names);
  const hint =
    near === undefined ? `Subcommands: ${names.join(", ")}` : `Did you mean imggen ${name} ${near}?`;
  return new UsageError(`imggen ${name} has no subcommand ${JSON.stringify(word)}.`, { hint, cause });
}

/** @param words all that are no flags: of a question for help, or of a prompt, perhaps */
export function unknownCommand(word: string, words: readonly string[]): UsageError {
  const [help, what] = words[0] === "help" ? ["help ", "command or topic"] : ["", "command"];
  const near = nearest(word, [...Object.keys(COMMANDS), ...(help === "" ? [] : TOPIC_NAMES)]);
  const prompt = `To generate an image: imggen generate ${shellWord(words.join(" "))}`;
  const other = help === "" ? prompt : `Topics: ${TOPIC_NAMES.join(", ")}`;
  const hint = near ? `Did you mean imggen ${help}${near}?` : `${other}\nSee imggen --help.`;
  return new UsageError(`There is no ${what} ${JSON.stringify(word)}.`, { hint });
}

/** The first name that a mistyped or shortened word may stand for. */
function nearest(word: string, names: readonly string[]): string | undefined {
  return names.find((name) => name.startsWith(word) || editDistance(name, word) <= 2);
}

/** What was given may be a key, so it is not repeated. */
function keyAsArgument(cause: CommanderError): UsageError {
  const message = "The API key is never an argument, because other users can see a program's arguments.";
  const hint = "Run imggen login alone: it asks for the key, or reads it from standard input.";
  return new UsageError(message, { hint, cause });
}

const TAKES_PROMPT: ReadonlySet<string> = new Set(["generate", "compare"]);

/** Arguments with spaces in them were quoted, so they are several prompts; else they are the words of one. */
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

/**
 * The same command line with quotes around a prompt that was typed without them, ready to paste.
 * @param argv the whole line, of which `command` has read its options
 */
function withQuotedPrompt(argv: readonly string[], command: Command): string {
  const [, first = -1, ...rest] = operandsAt(argv, command);
  const prompt = [first, ...rest].map((at) => argv[at]).join(" ");
  const words = argv.flatMap((word, at) => {
    if (at === first) return [prompt];
    return rest.includes(at) ? [] : [word];
  });
  return ["imggen", ...words.map((word) => shellWord(word))].join(" ");
}

/** Where in a command line the words stand that are neither an option nor an option's value; the command's name first. */
function operandsAt(argv: readonly string[], command: Command): number[] {
  const found: number[] = [];
  let optionsEnded = false;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (optionsEnded || !word.startsWith("-") || word === "-") found.push(at);
    else if (word === "--") optionsEnded = true;
    else if (takesNextWord(word, command)) at += 1;
  }
  return found;
}

/** Whether an option's value is the next word, and not a part of this one, as in `--model=z-image` and `-mz-image`. */
function takesNextWord(word: string, { options, parent }: Command): boolean {
  return [...options, ...(parent?.options ?? [])].some(
    ({ long, short, required }) => required && (word === long || word === short),
  );
}
