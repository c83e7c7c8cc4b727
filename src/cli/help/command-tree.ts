import { type Argument, type Command, Help, type Option } from "commander";
import { VERSION } from "../../lib/version.ts";
import { isRepeatable, TableOption } from "../session/add-options.ts";
import { commandWords } from "../session/command.ts";
import { type ExitCode, environmentTable, exitCodeTable, type Variable } from "./reference-tables.ts";
import { ARGUMENT_VALUES, type ValueKind, type ValueType, valueKind } from "./value-types.ts";

interface Valued {
  type: ValueType;
  values: readonly string[] | null;
  description: string;
}

export interface OptionNode extends Valued {
  flags: string;
  long: string;
  short: string | null;
  commaSeparated: boolean;
  repeatable: boolean;
  /** The default, in the words of the help; null if there is none. */
  default: string | boolean | null;
  group: string | null;
}

export interface ArgumentNode extends Valued {
  name: string;
  required: boolean;
  variadic: boolean;
}

/** A command, described for programs. Completion and the manual page are generated from it too. */
export interface CommandNode {
  name: string;
  summary: string;
  description: string;
  group: string | null;
  usage: string;
  arguments: readonly ArgumentNode[];
  options: readonly OptionNode[];
  /** The global options that it refuses, in their long form. */
  refuses: readonly string[];
  commands: readonly CommandNode[];
  /** Command lines that work when they are pasted. */
  examples: readonly string[];
}

const HELP = new Help();

/**
 * Describes a command and its subcommands. Global options, those of the root, are described separately.
 * @param refusedBy the flags of the global options that a command of this name refuses
 */
function describeCommand(command: Command, refusedBy: (name: string) => string[]): CommandNode {
  const isRoot = command.parent === null;
  const subcommands = HELP.visibleCommands(command).filter((each) => each.name() !== "help" || isRoot);
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    description: command.description(),
    group: heading(command.helpGroup()),
    usage: HELP.commandUsage(command),
    arguments: command.registeredArguments.map(describeArgument),
    options: isRoot ? [] : ownOptions(command).filter(({ long }) => long !== "--help"),
    refuses: refusedBy(commandWords(command)[0] ?? ""),
    commands: subcommands.map((each) => describeCommand(each, refusedBy)),
    examples: parseExamples(command),
  };
}

/** The options that a command has itself, in the order of its help. */
function ownOptions(command: Command): OptionNode[] {
  return HELP.visibleOptions(command).map(describeOption);
}

const DEFAULT = / \(default: (.+)\)$/;

function describeOption(option: Option): OptionNode {
  const { flags, long, short, description } = option;
  const row = option instanceof TableOption ? option.row : null;
  return {
    flags,
    long: long ?? "",
    short: short ?? null,
    ...valueFields(row ? valueKind(row) : { type: "boolean" }),
    commaSeparated: row?.kind === "list",
    repeatable: row !== null && isRepeatable(row),
    default: DEFAULT.exec(description)?.[1] ?? (option.required ? null : false),
    description: description.replace(DEFAULT, ""),
    group: heading(option.helpGroupHeading),
  };
}

function describeArgument(argument: Argument): ArgumentNode {
  const { required, variadic, description } = argument;
  const kind = ARGUMENT_VALUES[argument.name()] ?? { type: "text" };
  return { name: argument.name(), ...valueFields(kind), required, variadic, description };
}

function valueFields({ type, values }: ValueKind): Omit<Valued, "description"> {
  return { type, values: values ?? null };
}

function heading(text: string | undefined): string | null {
  return text?.replace(/:$/, "") || null;
}

/** Parsed from the help text, because the parser keeps the text below the options as a whole. */
function parseExamples(command: Command): string[] {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return [...help.matchAll(/^ {2}\$ (.*?)(?: {3,}.*)?$/gm)].map(([, example = ""]) => example);
}

/** Raised when a reader of the document would have to change: fields are added without. */
const SCHEMA_VERSION = 1;

/** `--help --json`: all that a program needs to know to run imggen, without reading help. */
export interface Description {
  ok: true;
  schemaVersion: number;
  version: string;
  command: CommandNode;
  /** Taken by every command, but for those that it `refuses`. */
  globalOptions: readonly OptionNode[];
  exitCodes: readonly ExitCode[];
  environment: readonly Variable[];
}

/**
 * @param words of a command line: the command that they name is described, or the whole program
 * @param refusedBy as of `describeCommand`
 */
export function describe(
  program: Command,
  words: readonly string[],
  refusedBy: (name: string) => string[],
): Description {
  const command = commandNamed(program, words);
  return {
    ok: true,
    schemaVersion: SCHEMA_VERSION,
    version: VERSION,
    command: describeCommand(command, refusedBy),
    globalOptions: ownOptions(program),
    exitCodes: exitCodeTable(),
    environment: environmentTable(),
  };
}

function commandNamed(command: Command, [word, ...more]: readonly string[]): Command {
  const next = command.commands.find((each) => each.name() === word);
  return next === undefined ? command : commandNamed(next, more);
}
