import type { CommandNode, Description, OptionNode } from "../help/command-tree.ts";

export interface CommandLine {
  command: CommandNode;
  options: readonly OptionNode[];
  /** Values of the given flags, by long flag; empty for a flag without a value. */
  flags: ReadonlyMap<string, readonly string[]>;
  args: readonly string[];
  pendingOption: OptionNode | null;
  optionsEnded: boolean;
}

/** Never throws, because an unfinished line is often invalid. */
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
    pendingOption: null as OptionNode | null,
    optionsEnded: false,
  };
  const addValue = ({ long }: OptionNode, value: string[]) =>
    flags.set(long, [...(flags.get(long) ?? []), ...value]);
  for (const word of words) {
    if (line.pendingOption) {
      addValue(line.pendingOption, [word]);
      line.pendingOption = null;
    } else if (line.optionsEnded || !word.startsWith("-") || word === "-") {
      const next = line.args.length > 0 ? undefined : line.command.commands.find(({ name }) => name === word);
      if (next) Object.assign(line, { command: next, options: acceptedOptions(next, globalOptions) });
      else line.args.push(word);
    } else if (word === "--") {
      line.optionsEnded = true;
    } else {
      const { option, value } = readFlag(word, line.options);
      if (option && value === null && option.type !== "boolean") line.pendingOption = option;
      else if (option) addValue(option, value === null ? [] : [value]);
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

/** Parses a flag, and its value if flag and value are one word: `--model=z-image`, `-mz-image`. */
export function readFlag(
  word: string,
  options: readonly OptionNode[],
): { option: OptionNode | undefined; value: string | null } {
  const [, name = word, value = null] = /^(--[^=]*)=(.*)$/s.exec(word) ?? /^(-[^-])(.+)$/s.exec(word) ?? [];
  return { option: options.find(({ long, short }) => name === long || name === short), value };
}

export interface Candidate {
  value: string;
  description: string;
}

export interface Completions {
  /** Kind of paths that the shell offers in addition to the candidates. */
  paths: "files" | "manifests" | "folders" | "none";
  candidates: readonly Candidate[];
}

export const NO_COMPLETIONS: Completions = { paths: "none", candidates: [] };

/** Only these words are offered, because bash inserts words unquoted, and a service could supply a harmful word. */
const SAFE_WORD = /^[\p{L}\p{N}][\p{L}\p{N}._:/@+-]*$/u;

export function filterCandidates(candidates: readonly Candidate[], current: string): Completions {
  const fitting = candidates.filter(({ value }) => value.startsWith(current) && SAFE_WORD.test(value));
  return { paths: "none", candidates: fitting };
}
