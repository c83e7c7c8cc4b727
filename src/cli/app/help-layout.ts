import { type Command, Help, type HelpConfiguration, type Option } from "commander";
import { wordsOf } from "../session/command.ts";
import { besideTerm, wrapWords } from "../text/fit.ts";
import type { OutputStream } from "../text/output-stream.ts";
import { refusedGlobals } from "./commands.ts";

const COLUMNS_OF_A_PIPE = 100;
const MOST_COLUMNS = 110;
/** A description that would have less room than this beside its term is put below it. */
const FEWEST_DESCRIPTION_COLUMNS = 22;

/** The heading of the program's own options, which every command takes but for those that it refuses. */
export const GLOBAL_OPTIONS = "Global options:";

/** The heading of those about the user's own generator, which a topic of the help describes. */
export const GENERATOR_OPTIONS = "Options of your own generator:";

/** How many columns help may take on a stream. */
export function helpColumns({ columns }: OutputStream): number {
  return Math.min(columns || COLUMNS_OF_A_PIPE, MOST_COLUMNS);
}

/**
 * The help of every command, as the parser lays it out.
 * @param all shows the advanced options too, which few need
 */
export function helpLayout(all: boolean): HelpConfiguration {
  return {
    minWidthToWrap: FEWEST_DESCRIPTION_COLUMNS,
    // Global options carry their own heading, so they come last.
    visibleOptions(command) {
      const options = new Help().visibleOptions(command).filter((option) => isShown(option, all));
      return options.toSpliced(-1, 0, ...inheritedOptions(command));
    },
    /** Commands and what is said of advanced options before the global options. */
    formatHelp(command, helper) {
      const sections = Help.prototype.formatHelp.call(helper, command, helper).trimEnd().split("\n\n");
      const isGlobal = (section: string) => section.startsWith(GLOBAL_OPTIONS);
      const more = `Advanced options: imggen ${wordsOf(command).join(" ")} --help --all`;
      const ordered = [
        ...sections.filter((section) => !isGlobal(section)),
        ...(!all && command.options.some(isAdvanced) ? [more] : []),
        ...sections.filter(isGlobal),
      ];
      return `${ordered.join("\n\n")}\n`;
    },
    formatItem(term, termColumns, description, { helpWidth: columns = COLUMNS_OF_A_PIPE }) {
      const layout = { columns, beside: termColumns + 4, least: FEWEST_DESCRIPTION_COLUMNS, indent: 6 };
      return besideTerm(`  ${term}`, [description.split(" ")], layout).join("\n");
    },
  };
}

function isShown(option: Option, all: boolean): boolean {
  return option.helpGroupHeading !== GENERATOR_OPTIONS && (all || !isAdvanced(option));
}

function isAdvanced({ helpGroupHeading }: Option): boolean {
  return helpGroupHeading === "Advanced:";
}

/** The global options that a command takes. */
function inheritedOptions(command: Command): Option[] {
  const [name = ""] = wordsOf(command);
  const above = (each: Command): Option[] =>
    each.parent === null ? [] : [...each.parent.options, ...above(each.parent)];
  return above(command).filter(
    (option) => isShown(option, true) && !refusedGlobals(name).includes(option.attributeName()),
  );
}

/**
 * Fits the lines that the parser leaves as they are: usage and examples. An example is continued on the next line in
 * a way that a shell understands, and what is said beside it goes above it.
 */
export function fitHelp(text: string, columns: number): string[] {
  const lines = text.split("\n");
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

const WORD_INDENT = 6;
/** The end of every line of a command but the last. */
const CONTINUED = " \\";

function fitLine(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  if (!line.startsWith("  $ "))
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

/** Whether a line of help is the heading of what follows. */
export function isHeading(line: string): boolean {
  return /^[A-Z][\w ]*:$/.test(line);
}
