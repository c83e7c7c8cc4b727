import { type Argument, type Command, Help, type Option } from "commander";
import { VERSION } from "../../lib/version.ts";
import { isRepeatable, TableOption } from "../session/add-options.ts";
import { commandWords } from "../session/command.ts";
import { type ExitCode, environmentTable, exitCodeTable, type Variable } from "./reference-tables.ts";
import { ARGUMENT_VALUES, type ValueKind, type ValueType, valueKind } from "./value-types.ts";

interface ValueFields {
  type: ValueType;
  values: readonly string[] | null;
  description: string;
}

export interface OptionNode extends ValueFields {
  flags: string;
  long: string;
  short: string | null;
  commaSeparated: boolean;
  repeatable: boolean;
  default: string | boolean | null;
  group: string | null;
}

export interface ArgumentNode extends ValueFields {
  name: string;
  required: boolean;
  variadic: boolean;
}

export interface CommandNode {
  name: string;
  summary: string;
  description: string;
  group: string | null;
  usage: string;
  arguments: readonly ArgumentNode[];
  options: readonly OptionNode[];
  /** Long flags of the global options that the command rejects. */
  refuses: readonly string[];
  commands: readonly CommandNode[];
  examples: readonly string[];
}

const HELP = new Help();

/** Describes a command without the global options. @param rejectedFlags global flags that a command rejects */
function describeCommand(command: Command, rejectedFlags: (name: string) => string[]): CommandNode {
  const isRoot = command.parent === null;
  const subcommands = HELP.visibleCommands(command).filter((each) => each.name() !== "help" || isRoot);
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    description: command.description(),
    group: heading(command.helpGroup()),
    usage: HELP.commandUsage(command),
    arguments: command.registeredArguments.map(describeArgument),
    options: isRoot ? [] : describeOptions(command).filter(({ long }) => long !== "--help"),
    refuses: rejectedFlags(commandWords(command)[0] ?? ""),
    commands: subcommands.map((each) => describeCommand(each, rejectedFlags)),
    examples: parseExamples(command),
  };
}

function describeOptions(command: Command): OptionNode[] {
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

function valueFields({ type, values }: ValueKind): Omit<ValueFields, "description"> {
  return { type, values: values ?? null };
}

function heading(text: string | undefined): string | null {
  return text?.replace(/:$/, "") || null;
}

/** The parser stores examples as unstructured text in the help. */
function parseExamples(command: Command): string[] {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return [...help.matchAll(/^ {2}\$ (.*?)(?: {3,}.*)?$/gm)].map(([, example = ""]) => example);
}

/** Raised for incompatible changes, but not for additional fields. */
const SCHEMA_VERSION = 1;

/** Document of `--help --json`. */
export interface Description {
  ok: true;
  schemaVersion: number;
  version: string;
  command: CommandNode;
  /** Options of every command, except the options in the command's `refuses`. */
  globalOptions: readonly OptionNode[];
  exitCodes: readonly ExitCode[];
  environment: readonly Variable[];
}

/**
 * @param words names of the command and its subcommand; empty for the whole program
 * @param rejectedFlags as in `describeCommand`
 */
export function describe(
  program: Command,
  words: readonly string[],
  rejectedFlags: (name: string) => string[],
): Description {
  const command = findCommand(program, words);
  return {
    ok: true,
    schemaVersion: SCHEMA_VERSION,
    version: VERSION,
    command: describeCommand(command, rejectedFlags),
    globalOptions: describeOptions(program),
    exitCodes: exitCodeTable(),
    environment: environmentTable(),
  };
}

function findCommand(command: Command, [word, ...more]: readonly string[]): Command {
  const next = command.commands.find((each) => each.name() === word);
  return next === undefined ? command : findCommand(next, more);
}
