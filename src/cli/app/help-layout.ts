import { type Command, Help, type HelpConfiguration, type Option } from "commander";
import { TOPIC_NAMES } from "../help/topic-names.ts";
import { commandWords } from "../session/command.ts";
import { besideTerm, wrapWords } from "../text/fit.ts";
import type { OutputStream } from "../text/output-stream.ts";
import { refusedGlobals } from "./commands.ts";

/** Maximum length of help without `--all`, in 80 columns: it stays on a small screen. */
const MAX_LINES = 40;
/** Width of that help in a pipe and on every terminal that has so many columns. */
const SHORT_HELP_COLUMNS = 80;
const FULL_HELP_COLUMNS_OF_A_PIPE = 100;
const MAX_COLUMNS = 110;
/** A description that would have less room than this beside its term is put below it. */
const MIN_DESCRIPTION_COLUMNS = 22;

/** The heading of the program's own options, which every command takes but for those that it refuses. */
export const GLOBAL_OPTIONS = "Global options:";

/** The heading of the global options of a generator, which only `--help --all` shows. */
export const GENERATOR_OPTIONS = "Options of your own generator:";

/** The commands that `imggen --help` describes; it only names the others. */
const DAILY_COMMANDS = words("generate batch compare rerun resume status history show models setup");

/** The options in the help of a command without `--all`, in its order. Of other commands: all but the advanced ones. */
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

/** The number of columns that help takes on a stream. @param isFull of a topic, or of help with `--all` */
export function helpColumns({ columns }: OutputStream, isFull: boolean): number {
  return isFull
    ? Math.min(columns || FULL_HELP_COLUMNS_OF_A_PIPE, MAX_COLUMNS)
    : Math.min(columns || SHORT_HELP_COLUMNS, SHORT_HELP_COLUMNS);
}

/** Terms with their texts under a heading, or names alone. */
interface Section {
  heading: string;
  items?: readonly Item[];
  names?: readonly string[];
}

type Item = readonly [term: string, text: string];

/** The help of every command. @param all shows every command and option, with its whole description */
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

/** Empty if there is nothing under the heading. */
function sectionLines({ heading, items = [], names = [] }: Section, columns: number): string[] {
  const beside = Math.max(...items.map(([term]) => term.length)) + 4;
  const layout = { columns, beside, least: MIN_DESCRIPTION_COLUMNS, indent: 6 };
  const lines = [
    ...items.flatMap(([term, text]) => besideTerm(`  ${term}`, [text.split(" ")], layout)),
    ...(names.length > 0 ? wrapWords(commaSeparated(names), { columns, indent: 2 }) : []),
  ];
  return lines.length > 0 ? [heading, ...lines] : [];
}

function commaSeparated(names: readonly string[]): string[] {
  return names.map((name, at) => (at === names.length - 1 ? name : `${name},`));
}

/** Commands and options by group; the global options are the last. */
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

/** Each heading with its items, in the order of the first of them. */
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

/** A command's own options, and the global ones that it takes; the one for help is the last. */
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

/** A description up to its first semicolon, and the default at its end. */
function firstClause(description: string): string {
  return description.replace(/;.*?(?= \(default: |$)/, "");
}

/**
 * Fits the lines that the parser leaves as they are: usage and examples. An example is continued on the next line in
 * a way that a shell understands, and a remark beside it goes above it. Without `--all` the last examples are left out
 * if the help would have too many lines; one stays.
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
  return line.startsWith(EXAMPLE);
}

function fitLines(lines: readonly string[], columns: number): string[] {
  const notesAbove = lines.some((line) => line.length > columns && NOTED_EXAMPLE.test(line));
  return lines.flatMap((line) => {
    const [, command, note] = (notesAbove && NOTED_EXAMPLE.exec(line)) || [];
    if (command === undefined) return fitLine(line, columns);
    return [`  # ${note}`, ...fitLine(command, columns)];
  });
}

/** A command, and what it is good for beside it. */
const NOTED_EXAMPLE = /^( {2}\$ .*?\S) {3,}(\S.*)$/;
/** A word of a command line, quotes and all; a flag together with its value. */
const SHELL_WORD = /(?:--?[a-z][\w-]* (?![-|]))?(?:[^\s"']|"[^"]*"|'[^']*')+/gi;

const EXAMPLE = "  $ ";
const WORD_INDENT = 6;
/** The end of every line of a command but the last. */
const CONTINUED = " \\";

function fitLine(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  if (!isExample(line))
    return wrapWords(line.match(/\S+/g) ?? [], { columns, indent: line.search(/\S/), hanging: 2 });
  const words = (line.slice(4).match(SHELL_WORD) ?? []).flatMap((word) =>
    word.startsWith("-") && word.length + WORD_INDENT + CONTINUED.length > columns ? word.split(" ") : [word],
  );
  const [first = "", ...more] = wrapWords(words, {
    columns,
    indent: WORD_INDENT - 2,
    hanging: 2,
    end: CONTINUED,
  });
  return [`  $ ${first.trimStart()}`, ...more];
}
