import type { Command, CommanderError } from "commander";
import { editDistance } from "../../lib/edit-distance.ts";
import { type ErrorType, ImggenError, UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { plainWords } from "../session/command.ts";
import { COMMANDS } from "./commands.ts";

const PROMPT_COMMANDS: ReadonlySet<string> = new Set(["generate", "compare"]);

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
  if (isExcess && command && PROMPT_COMMANDS.has(command.name())) {
    return tooManyPrompts(error, argv, command);
  }
  if (isExcess && name === "login") return keyAsArgument(error);
  const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const [, option = ""] = error.code === "commander.unknownOption" ? (/'--([\w-]+)/.exec(message) ?? []) : [];
  const suggestion = optionHint(option) ?? more.join(" ").replace(/^\(|\)$/g, "");
  return new UsageError(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, "."), {
    hint: suggestion || (isExcess && second === "set" ? `Quote a value with spaces. ${help}` : help),
    cause: error,
  });
}

/** Hints for options of other programs. Most of these options correspond to a field of the user's generator. */
const OPTION_HINTS: Readonly<Record<string, string>> = {
  steps: "With your own generator: --field steps=20",
  cfg: "With your own generator: --field cfg_scale=7, or the generator's own name for this field",
  sampler: "With your own generator: --field sampler_name=Euler, or the generator's own name for this field",
  size: "The size depends on --ratio and --quality, and with your own generator also on --generator-side <px>.",
  n: "Did you mean --max-images <n>?",
  "negative-prompt": "Did you mean --negative <text>?",
  "generator-field": "Did you mean --field <name=value>?",
};
const OPTION_SYNONYMS: Readonly<Record<string, string>> = {
  "cfg-scale": "cfg",
  "guidance-scale": "cfg",
  width: "size",
  height: "size",
};

function optionHint(name: string): string | undefined {
  const dashedName = name.replaceAll("_", "-");
  const canonicalName = OPTION_SYNONYMS[dashedName] ?? dashedName;
  return Object.hasOwn(OPTION_HINTS, canonicalName) ? OPTION_HINTS[canonicalName] : undefined;
}

function unknownSubcommand(
  name: string,
  word: string,
  names: readonly string[],
  cause: CommanderError,
): UsageError {
  const nearestName = findNearest(word, names);
  const hint =
    nearestName === undefined
      ? `Subcommands: ${names.join(", ")}`
      : `Did you mean imggen ${name} ${nearestName}?`;
  return new UsageError(`imggen ${name} has no subcommand ${JSON.stringify(word)}.`, { hint, cause });
}

export function unknownCommand(word: string, argv: readonly string[]): UsageError {
  const [help, noun] = plainWords(argv)[0] === "help" ? ["help ", "command or topic"] : ["", "command"];
  const nearestName = findNearest(word, [
    ...Object.keys(COMMANDS),
    "help",
    ...(help === "" ? [] : TOPIC_NAMES),
  ]);
  const line = quotePrompt("generate", argv) ?? 'imggen generate "<prompt>"';
  const alternative = help === "" ? `To generate an image: ${line}` : `Topics: ${TOPIC_NAMES.join(", ")}`;
  const hint = nearestName
    ? `Did you mean imggen ${help}${nearestName}?`
    : `${alternative}\nSee imggen --help.`;
  return new UsageError(`There is no ${noun} ${JSON.stringify(word)}.`, { hint });
}

function findNearest(word: string, names: readonly string[]): string | undefined {
  const [nearestName] = names
    .map((name) => ({ name, distance: name.startsWith(word) ? 0 : editDistance(name, word) }))
    .filter(({ distance }) => distance <= 2)
    .sort((a, b) => a.distance - b.distance);
  return nearestName?.name;
}

/** The message omits the argument, because it could be an API key. */
function keyAsArgument(cause: CommanderError): UsageError {
  const message = "The API key is never an argument, because other users can see a program's arguments.";
  const hint =
    "Run imggen login without an argument, and enter the key when you are asked, or pipe the key to standard input.";
  return new UsageError(message, { hint, cause });
}

/** If an argument contains a space, each argument counts as a prompt. Otherwise the arguments are one prompt. */
function tooManyPrompts(cause: CommanderError, argv: readonly string[], command: Command): UsageError {
  const [name, count] = [command.name(), command.args.length];
  if (!command.args.some((prompt) => /\s/.test(prompt))) {
    const line = argv[0] === name ? quotePrompt(name, argv.slice(1), count) : null;
    const hint = line === null ? `See imggen ${name} --help.` : `Run: ${line}`;
    return new UsageError("The prompt must be one argument: quote it.", { hint, cause });
  }
  const hint =
    "For several prompts, write each prompt on a line of a file, and run: imggen batch prompts.txt";
  return new UsageError(`imggen ${name} takes one prompt, not ${count}.`, { hint, cause });
}

/**
 * Returns the command line with its prompt quoted, or null if words of the prompt could follow an option.
 * @param count number of words that the parser assigned to the prompt; undefined if the parser has not run
 */
function quotePrompt(command: string, line: readonly string[], count?: number): string | null {
  const first = line.findIndex((word) => word.startsWith("-"));
  const [prompt, options] = first === -1 ? [line, []] : [line.slice(0, first), line.slice(first)];
  // If the parser has not run, a word after an option could be part of the prompt, so it is not allowed.
  const isWord = (word: string) => !word.startsWith("-") || word === "--";
  const isContiguous = count === undefined ? !options.some(isWord) : count === prompt.length;
  if (prompt.length === 0 || !isContiguous) return null;
  return ["imggen", command, ...[prompt.join(" "), ...options].map((word) => shellWord(word))].join(" ");
}

/** @throws UsageError for a long option with a single dash, because the parser would read `-model` as `-m odel` */
export function rejectSingleDash(words: readonly string[], program: Command): void {
  const [name] = plainWords(words);
  const command = program.commands.find((each) => each.name() === name);
  const knownFlags = [
    "--help",
    ...[program, command].flatMap((each) => each?.options.map(({ long }) => long) ?? []),
  ];
  for (const word of words) {
    const [, typed = "", flagName = ""] = /^(-([a-z][\w-]+))(?:=|$)/.exec(word) ?? [];
    if (!knownFlags.includes(`--${flagName}`)) continue;
    throw new UsageError(`Unknown option '${typed}'.`, { hint: `Did you mean --${flagName}?` });
  }
}

// Word processors, chats and web pages insert these characters. A shell treats them as letters.
const DASH = /^(-?[‐‑‒–—―−]-?)([a-z][\w-]*)(?:=.*|[\u00a0\u2007\u202f].*)?$/is;
const NO_BREAK_SPACE = /^(--?[a-z][\w-]*|[a-z]+)[\u00a0\u2007\u202f](.+)$/is;
const OPENING_QUOTE = /^(?:--[\w-]+=)?[“”„‟‘’‚‛«»]/;
const QUOTES = /(?<=^(?:--[\w-]+=)?)[“”„‟‘’‚‛«»]|[“”„‟‘’‚‛«»]$/g;

/** @throws UsageError for an option with a typographic dash, because it would become part of the prompt */
export function rejectTypographicDash(words: readonly string[]): void {
  for (const word of words) {
    const [, dash = "", name = ""] = DASH.exec(word) ?? [];
    if (name === "") continue;
    const flag = name.length === 1 ? `-${name}` : `--${name}`;
    const message = `The command line has ${dash} in place of a plain dash. Type ${flag}.`;
    throw new UsageError(message, {
      hint: "Nothing was sent. To begin a prompt with this dash, write -- before the prompt.",
    });
  }
}

const COMMAND_LINE_ERRORS: ReadonlySet<ErrorType> = new Set(["usage", "invalid_request"]);

/** Explains an error that typographic quotes or spaces could have caused. @param words the arguments before `--` */
export function explainTypographic(error: unknown, words: readonly string[]): unknown {
  if (!(error instanceof ImggenError) || !COMMAND_LINE_ERRORS.has(error.type)) return error;
  // A word with a space was in plain quotes, so its typographic quotes are part of the prompt.
  const typed = words.filter((word) => !word.includes(" "));
  const [, flag = "", value = ""] = typed.map((word) => NO_BREAK_SPACE.exec(word)).find(Boolean) ?? [];
  const quotes = typed.some((word) => OPENING_QUOTE.test(word))
    ? typed.flatMap((word) => word.match(QUOTES) ?? [])
    : [];
  if (flag === "" && quotes.length === 0) return error;
  const characters =
    flag === ""
      ? `${[...new Set(quotes)].join(" ")} in place of plain quotes`
      : `a no-break space in place of a plain space in "${flag} ${value}"`;
  return new UsageError(`The command line has ${characters}.`, { hint: error.message, cause: error });
}
