import type { CommandNode, Description, OptionNode } from "../help/command-tree.ts";

/** The words before the cursor, parsed. */
export interface CommandLine {
  command: CommandNode;
  /** All that the command takes. */
  options: readonly OptionNode[];
  /** The values of each flag that was given, by its long form; empty for one that takes none. */
  flags: ReadonlyMap<string, readonly string[]>;
  /** The arguments that were given. */
  args: readonly string[];
  /** The flag whose value the next word is. */
  awaits: OptionNode | null;
  /** Whether `--` ended the flags. */
  optionsEnded: boolean;
}

/** Reads the words before the cursor, whatever they are: a line that is being typed is seldom right. */
export function readCommandLine(
  words: readonly string[],
  { command, globalOptions }: Description,
): CommandLine {
  const flags = new Map<string, string[]>();
  const line = {
    command,
    options: globalOptions,
    flags,
    args: [] as string[],
    awaits: null as OptionNode | null,
    optionsEnded: false,
  };
  const take = ({ long }: OptionNode, value: string[]) =>
    flags.set(long, [...(flags.get(long) ?? []), ...value]);
  for (const word of words) {
    if (line.awaits) {
      take(line.awaits, [word]);
      line.awaits = null;
    } else if (line.optionsEnded || !word.startsWith("-") || word === "-") {
      const next = line.args.length > 0 ? undefined : line.command.commands.find(({ name }) => name === word);
      if (next) Object.assign(line, { command: next, options: acceptedOptions(next, globalOptions) });
      else line.args.push(word);
    } else if (word === "--") {
      line.optionsEnded = true;
    } else {
      const { option, value } = readFlag(word, line.options);
      if (option && value === null && option.type !== "boolean") line.awaits = option;
      else if (option) take(option, value === null ? [] : [value]);
    }
  }
  return line;
}

function acceptedOptions(
  { options, refuses }: CommandNode,
  globalOptions: readonly OptionNode[],
): OptionNode[] {
  return [...options, ...globalOptions.filter(({ long }) => !refuses.includes(long))];
}

/** The flag in a word, and its value if it is in the same word: `--model=z-image`, `-mz-image`. */
export function readFlag(
  word: string,
  options: readonly OptionNode[],
): { option: OptionNode | undefined; value: string | null } {
  const [, name = word, value = null] = /^(--[^=]*)=(.*)$/s.exec(word) ?? /^(-[^-])(.+)$/s.exec(word) ?? [];
  return { option: options.find(({ long, short }) => name === long || name === short), value };
}

/** One word that may stand at the cursor. */
export interface Candidate {
  value: string;
  description: string;
}

/** Completions at the cursor. */
export interface Offer {
  /** Names of files or folders besides, which the shell completes, and quotes, best. */
  paths: "files" | "manifests" | "folders" | "none";
  candidates: readonly Candidate[];
}

export const NOTHING: Offer = { paths: "none", candidates: [] };

/**
 * A word that no shell reads anything into, and no command takes for a flag. bash puts a candidate on the line as it
 * is, and task ids come from the service, models from a file that somebody shared.
 */
const HARMLESS = /^[\p{L}\p{N}][\p{L}\p{N}._:/@+-]*$/u;

/** The harmless ones among these that begin with what is typed already. */
export function among(candidates: readonly Candidate[], current: string): Offer {
  const fitting = candidates.filter(({ value }) => value.startsWith(current) && HARMLESS.test(value));
  return { paths: "none", candidates: fitting };
}
