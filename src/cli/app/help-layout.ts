import { type Command, Help, type HelpConfiguration, type Option } from "commander";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { commandWords } from "../session/command.ts";
import { termLines, wrapWords } from "../text/fit.ts";
import type { OutputStream } from "../text/output-stream.ts";
import { refusedGlobals } from "./commands.ts";

/** Maximum number of lines of help without `--all`, chosen to fit a small screen. */
const MAX_LINES = 40;
/** Maximum width of help without `--all`, and the width of that help in a pipe. */
const SHORT_HELP_COLUMNS = 80;
const FULL_HELP_PIPE_COLUMNS = 100;
const MAX_FULL_HELP_COLUMNS = 110;
/** Minimum width of a description beside its term. A narrower description is placed below the term. */
const MIN_DESCRIPTION_COLUMNS = 22;

export const GLOBAL_OPTIONS = "Global options:";

export const GENERATOR_OPTIONS = "Options of your own generator:";

/** Commands that `imggen --help` describes. All others are listed by name only. */
const DAILY_COMMANDS = words("generate batch compare rerun resume status history show models setup");

/** Options in the help of these commands without `--all`, in order. Other commands omit only advanced options. */
const DAILY_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  generate: words(
    "model ratio quality max-images image output seed prompt-file name overwrite dry-run max-credits reuse no-wait timeout",
  ),
  batch: words(
    "model ratio quality image template output name sheet max-credits yes dry-run retry-failed concurrency",
  ),
  compare: words(
    "model ratio quality image seed output name sheet max-credits yes dry-run retry-failed concurrency timeout",
  ),
  rerun: words(
    "prompt model ratio quality max-images image seed output name overwrite dry-run max-credits yes no-wait timeout",
  ),
};
const DAILY_GLOBAL_OPTIONS = words("json profile sandbox generator help");

function words(list: string): string[] {
  return list.split(" ");
}

/** Width of help on a stream, in columns. @param isFull whether the help is a topic, or was requested with `--all` */
export function helpColumns({ columns }: OutputStream, isFull: boolean): number {
  return isFull
    ? Math.min(columns || FULL_HELP_PIPE_COLUMNS, MAX_FULL_HELP_COLUMNS)
    : Math.min(columns || SHORT_HELP_COLUMNS, SHORT_HELP_COLUMNS);
}

interface Section {
  heading: string;
  items?: readonly Item[];
  names?: readonly string[];
}

type Item = readonly [term: string, description: string];

export function helpLayout(all: boolean): HelpConfiguration {
  return {
    formatHelp(command, { helpWidth: columns = SHORT_HELP_COLUMNS }) {
      const help = new Help();
      const sections = all ? fullSections(command) : shortSections(command);
      const parts = [
        [`Usage: ${help.commandUsage(command)}`],
        [help.commandDescription(command)],
        ...sections.map((section) => sectionLines(section, columns)).filter((lines) => lines.length > 0),
        ...(all ? [] : [[`All options: ${["imggen", ...commandWords(command)].join(" ")} --help --all`]]),
      ];
      return `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`;
    },
  };
}

function sectionLines({ heading, items = [], names = [] }: Section, columns: number): string[] {
  const textColumn = Math.max(...items.map(([term]) => term.length)) + 4;
  const layout = { columns, textColumn, minTextColumns: MIN_DESCRIPTION_COLUMNS, indent: 6 };
  const lines = [
    ...items.flatMap(([term, text]) => termLines(`  ${term}`, [text.split(" ")], layout)),
    ...(names.length > 0 ? wrapWords(commaSeparated(names), { columns, indent: 2 }) : []),
  ];
  return lines.length > 0 ? [heading, ...lines] : [];
}

function commaSeparated(names: readonly string[]): string[] {
  return names.map((name, at) => (at === names.length - 1 ? name : `${name},`));
}

function fullSections(command: Command): Section[] {
  const { commandOptions, globals } = splitOptions(command);
  const commands = new Help().visibleCommands(command);
  return [
    argumentSection(command),
    ...grouped(commands, (each) => each.helpGroup() || "Commands:", commandItem),
    ...topicSections(command),
    ...grouped(commandOptions, (option) => option.helpGroupHeading ?? "Options:", optionItem),
    ...grouped(globals, (option) => option.helpGroupHeading ?? GLOBAL_OPTIONS, optionItem).toReversed(),
  ];
}

function shortSections(command: Command): Section[] {
  const { commandOptions, globals } = splitOptions(command);
  const commands = new Help().visibleCommands(command);
  const brief = (option: Option): Item => [option.flags, firstClause(option.description)];
  if (command.parent === null) {
    const daily = inOrder(DAILY_COMMANDS, commands, (each) => each.name());
    const others = commands.filter((each) => !daily.includes(each));
    return [
      { heading: "Daily use:", items: daily.map(commandItem) },
      { heading: "Other commands:", names: others.map((each) => each.name()) },
      ...topicSections(command),
      { heading: GLOBAL_OPTIONS, items: inOrder(DAILY_GLOBAL_OPTIONS, globals, longName).map(brief) },
    ];
  }
  const names = DAILY_OPTIONS[commandWords(command).join(" ")];
  const options =
    names === undefined
      ? commandOptions.filter((each) => !isAdvanced(each))
      : inOrder(names, commandOptions, longName);
  const global = globals.filter(({ helpGroupHeading }) => helpGroupHeading === GLOBAL_OPTIONS);
  return [
    argumentSection(command),
    { heading: "Commands:", items: commands.map(commandItem) },
    { heading: "Options:", items: options.map(brief) },
    { heading: GLOBAL_OPTIONS, names: global.map(({ flags }) => flags) },
  ];
}

function grouped<Value>(
  values: readonly Value[],
  heading: (value: Value) => string,
  item: (value: Value) => Item,
): Section[] {
  const headings = [...new Set(values.map(heading))];
  return headings.map((each) => ({
    heading: each,
    items: values.filter((value) => heading(value) === each).map(item),
  }));
}

function topicSections({ parent }: Command): Section[] {
  return parent === null ? [{ heading: "Topics of imggen help:", names: TOPIC_NAMES }] : [];
}

function argumentSection(command: Command): Section {
  const visibleArguments = new Help().visibleArguments(command);
  return { heading: "Arguments:", items: visibleArguments.map((each) => [each.name(), each.description]) };
}

function commandItem(command: Command): Item {
  const help = new Help();
  return [help.subcommandTerm(command), help.subcommandDescription(command)];
}

function optionItem({ flags, description }: Option): Item {
  return [flags, description];
}

function splitOptions(command: Command): { commandOptions: Option[]; globals: Option[] } {
  const visible = new Help().visibleOptions(command);
  if (command.parent === null) return { commandOptions: [], globals: visible };
  const refused = refusedGlobals(commandWords(command)[0] ?? "");
  const acceptedGlobals = globalOptions(command.parent).filter(
    (option) => !refused.includes(option.attributeName()),
  );
  return { commandOptions: visible.slice(0, -1), globals: [...acceptedGlobals, ...visible.slice(-1)] };
}

function globalOptions({ parent, options }: Command): readonly Option[] {
  return parent === null ? options : globalOptions(parent);
}

function isAdvanced({ helpGroupHeading }: Option): boolean {
  return helpGroupHeading === "Advanced:";
}

function inOrder<Value>(
  names: readonly string[],
  values: readonly Value[],
  name: (value: Value) => string,
): Value[] {
  return names.flatMap((each) => values.filter((value) => name(value) === each));
}

function longName({ long }: Option): string {
  return long?.slice("--".length) ?? "";
}

function firstClause(description: string): string {
  return description.replace(/;.*?(?= \(default: |$)/, "");
}

/**
 * Wraps usage and examples, which the parser does not wrap. If the help has too many lines without `--all`, the last
 * examples are omitted.
 */
export function fitHelp(text: string, columns: number, all: boolean): string[] {
  const lines = text.split("\n");
  const fitted = fitLines(lines, columns);
  if (all || fitted.length <= MAX_LINES) return fitted;
  const last = lines.findLastIndex(isExample);
  return isExample(lines[last - 1] ?? "")
    ? fitHelp(lines.toSpliced(last, 1).join("\n"), columns, all)
    : fitted;
}

function isExample(line: string): boolean {
  return line.startsWith(EXAMPLE_PREFIX);
}

function fitLines(lines: readonly string[], columns: number): string[] {
  const hasNotesAbove = lines.some((line) => line.length > columns && EXAMPLE_WITH_NOTE.test(line));
  return lines.flatMap((line) => {
    const [, command, note] = (hasNotesAbove && EXAMPLE_WITH_NOTE.exec(line)) || [];
    if (command === undefined) return fitLine(line, columns);
    return [`  # ${note}`, ...fitLine(command, columns)];
  });
}

const EXAMPLE_WITH_NOTE = /^( {2}\$ .*?\S) {3,}(\S.*)$/;
const SHELL_WORD = /(?:--?[a-z][\w-]* (?![-|]))?(?:[^\s"']|"[^"]*"|'[^']*')+/gi;

const EXAMPLE_PREFIX = "  $ ";
const WORD_INDENT = 6;
const CONTINUATION = " \\";

function fitLine(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  if (!isExample(line))
    return wrapWords(line.match(/\S+/g) ?? [], { columns, indent: line.search(/\S/), hanging: 2 });
  const words = (line.slice(4).match(SHELL_WORD) ?? []).flatMap((word) =>
    word.startsWith("-") && word.length + WORD_INDENT + CONTINUATION.length > columns
      ? word.split(" ")
      : [word],
  );
  const [first = "", ...more] = wrapWords(words, {
    columns,
    indent: WORD_INDENT - 2,
    hanging: 2,
    end: CONTINUATION,
  });
  return [`  $ ${first.trimStart()}`, ...more];
}
