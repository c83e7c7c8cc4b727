import type { Command, CommanderError } from "commander";
import { editDistance } from "../../lib/edit-distance.ts";
import { UsageError } from "../../lib/error-types.ts";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { plainWords } from "../session/command.ts";
import { COMMANDS } from "./commands.ts";
import { commandLine, takesPrompt, withOnePrompt } from "./proposed-line.ts";

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
  const isExcess = error.code === "commander.excessArguments";
  if (error.code === "commander.help") {
    return new UsageError(`imggen ${name} needs a subcommand.`, { hint: help, cause: error });
  }
  if (isExcess && second && command?.commands.length && !subcommand) {
    const names = command.commands.map((each) => each.name());
    return unknownSubcommand(name ?? "", second, names, error);
  }
  if (isExcess && command && takesPrompt(command)) {
    return tooManyPrompts(error, argv, command);
  }
  if (isExcess && name === "login") return keyAsArgument(error);
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const [, option = ""] = error.code === "commander.unknownOption" ? (/'--([\w-]+)/.exec(message) ?? []) : [];
  const suggestion = usualOption(option) ?? more.join(" ").replace(/^\(|\)$/g, "");
  return new UsageError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, "."), {
    hint: suggestion || (isExcess && second === "set" ? `Quote a value with spaces. ${help}` : help),
    cause: error,
  });
}

/** What to write for options of other programs: most are fields of the user's own generator. */
const USUAL_OPTIONS: Readonly<Record<string, string>> = {
  steps: "With your own generator: --field steps=20",
  cfg: "With your own generator: --field cfg_scale=7, or what it calls it",
  sampler: "With your own generator: --field sampler_name=Euler, or what it calls it",
  size: "The size follows from --ratio and --quality; with your own generator from --generator-side <px> too.",
  n: "Did you mean --max-images <n>?",
  "negative-prompt": "Did you mean --negative <text>?",
  "generator-field": "Did you mean --field <name=value>?",
};
const SYNONYMS: Readonly<Record<string, string>> = {
  "cfg-scale": "cfg",
  "guidance-scale": "cfg",
  width: "size",
  height: "size",
};

function usualOption(name: string): string | undefined {
  const dashed = name.replaceAll("_", "-");
  const usual = SYNONYMS[dashed] ?? dashed;
  return Object.hasOwn(USUAL_OPTIONS, usual) ? USUAL_OPTIONS[usual] : undefined;
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

/**
 * @param argv the whole line: a question for help, or a prompt, perhaps
 * @param generate the command that is proposed for a prompt
 */
export function unknownCommand(word: string, argv: readonly string[], generate: Command): UsageError {
  const [help, what] = plainWords(argv)[0] === "help" ? ["help ", "command or topic"] : ["", "command"];
  const near = nearest(word, [...Object.keys(COMMANDS), "help", ...(help === "" ? [] : TOPIC_NAMES)]);
  const prompt = `To generate an image: ${commandLine(withOnePrompt(argv, generate))}`;
  const other = help === "" ? prompt : `Topics: ${TOPIC_NAMES.join(", ")}`;
  const hint = near ? `Did you mean imggen ${help}${near}?` : `${other}\nSee imggen --help.`;
  return new UsageError(`There is no ${what} ${JSON.stringify(word)}.`, { hint });
}

/** The name that a shortened or mistyped word most likely stands for. */
function nearest(word: string, names: readonly string[]): string | undefined {
  const [near] = names
    .map((name) => ({ name, distance: name.startsWith(word) ? 0 : editDistance(name, word) }))
    .filter(({ distance }) => distance <= 2)
    .sort((a, b) => a.distance - b.distance);
  return near?.name;
}

/** The error for an argument of `login`. It may be a key, so the message does not repeat it. */
function keyAsArgument(cause: CommanderError): UsageError {
  const message = "The API key is never an argument, because other users can see a program's arguments.";
  const hint = "Run imggen login alone: it asks for the key, or reads it from standard input.";
  return new UsageError(message, { hint, cause });
}

/** The error for several arguments. If any has a space, they were quoted and are several prompts; else the words of one. */
function tooManyPrompts(cause: CommanderError, argv: readonly string[], command: Command): UsageError {
  if (!command.args.some((prompt) => /\s/.test(prompt))) {
    const hint = `Run: ${commandLine(withOnePrompt(argv, command))}`;
    return new UsageError("The prompt must be one argument: quote it.", { hint, cause });
  }
  const hint = "For several, write each on a line of a file, and run: imggen batch prompts.txt";
  return new UsageError(`imggen ${command.name()} takes one prompt, not ${command.args.length}.`, {
    hint,
    cause,
  });
}
