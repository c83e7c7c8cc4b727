import type { Command, CommanderError } from "commander";
import { editDistance } from "../../lib/edit-distance.ts";
import { type ErrorType, ImggenError, UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { plainWords } from "../session/command.ts";
import { COMMANDS } from "./commands.ts";

/** Commands whose argument is a prompt. */
const TAKES_PROMPT: ReadonlySet<string> = new Set(["generate", "compare"]);

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
  if (isExcess && command && TAKES_PROMPT.has(command.name())) {
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

/** Hints for options of other programs: most are fields of the user's generator. */
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

/** @param argv the whole line: a question for help, or perhaps a prompt */
export function unknownCommand(word: string, argv: readonly string[]): UsageError {
  const [help, what] = plainWords(argv)[0] === "help" ? ["help ", "command or topic"] : ["", "command"];
  const near = nearest(word, [...Object.keys(COMMANDS), "help", ...(help === "" ? [] : TOPIC_NAMES)]);
  const line = withOnePrompt("generate", argv) ?? 'imggen generate "<prompt>"';
  const other = help === "" ? `To generate an image: ${line}` : `Topics: ${TOPIC_NAMES.join(", ")}`;
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
  const [name, count] = [command.name(), command.args.length];
  if (!command.args.some((prompt) => /\s/.test(prompt))) {
    const line = argv[0] === name ? withOnePrompt(name, argv.slice(1), count) : null;
    const hint = line === null ? `See imggen ${name} --help.` : `Run: ${line}`;
    return new UsageError("The prompt must be one argument: quote it.", { hint, cause });
  }
  const hint = "For several, write each on a line of a file, and run: imggen batch prompts.txt";
  return new UsageError(`imggen ${name} takes one prompt, not ${count}.`, { hint, cause });
}

/**
 * The command line with the words of a prompt as one, ready to paste; null unless they stand together before any option.
 * @param count how many words of the line the parser took for the prompt, if it has read the line
 */
function withOnePrompt(command: string, line: readonly string[], count?: number): string | null {
  const first = line.findIndex((word) => word.startsWith("-"));
  const [prompt, options] = first === -1 ? [line, []] : [line.slice(0, first), line.slice(first)];
  // A word after an option may be its value: only the parser can distinguish them.
  const isWord = (word: string) => !word.startsWith("-") || word === "--";
  const isTogether = count === undefined ? !options.some(isWord) : count === prompt.length;
  if (prompt.length === 0 || !isTogether) return null;
  return ["imggen", command, ...[prompt.join(" "), ...options].map((word) => shellWord(word))].join(" ");
}

/**
 * Refuses an option behind one dash: the parser would take `-model` for `-m odel`.
 * @throws UsageError
 */
export function refuseOneDash(words: readonly string[], program: Command): void {
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

// Word processors, chats and web pages replace what is typed by these. A shell takes them for letters.
const DASH = /^(-?[‐‑‒–—―−]-?)([a-z][\w-]*)(?:=.*|[\u00a0\u2007\u202f].*)?$/is;
const BLANK = /^(--?[a-z][\w-]*|[a-z]+)[\u00a0\u2007\u202f](.+)$/is;
const OPENED = /^(?:--[\w-]+=)?[“”„‟‘’‚‛«»]/;
const QUOTES = /(?<=^(?:--[\w-]+=)?)[“”„‟‘’‚‛«»]|[“”„‟‘’‚‛«»]$/g;

/**
 * Refuses an option with a typographic dash: it would become a part of the prompt.
 * @throws UsageError
 */
export function refuseTypographicDash(words: readonly string[]): void {
  for (const word of words) {
    const [, dash = "", name = ""] = DASH.exec(word) ?? [];
    if (name === "") continue;
    const flag = name.length === 1 ? `-${name}` : `--${name}`;
    const message = `The command line has ${dash} in place of a plain dash: ${flag} is meant.`;
    throw new UsageError(message, {
      hint: "Nothing was sent. To begin a prompt with it, write -- before the prompt.",
    });
  }
}

const REFUSED: ReadonlySet<ErrorType> = new Set(["usage", "invalid_request"]);

/** The error of a command line; if typographic quotes or blanks may be its cause, they are named. @param words before `--` */
export function withTypographic(error: unknown, words: readonly string[]): unknown {
  if (!(error instanceof ImggenError) || !REFUSED.has(error.type)) return error;
  // The shell has found the quotes around a word with a blank: typographic ones in it are the prompt's.
  const typed = words.filter((word) => !word.includes(" "));
  const [, before = "", after = ""] = typed.map((word) => BLANK.exec(word)).find(Boolean) ?? [];
  const quotes = typed.some((word) => OPENED.test(word))
    ? typed.flatMap((word) => word.match(QUOTES) ?? [])
    : [];
  if (before === "" && quotes.length === 0) return error;
  const complaint =
    before === ""
      ? `${[...new Set(quotes)].join(" ")} in place of plain quotes`
      : `a no-break space in place of a plain one: ${before} ${after} is meant`;
  return new UsageError(`The command line has ${complaint}.`, { hint: error.message, cause: error });
}
