import type { Command } from "commander";
import { shellWord } from "../../lib/shell-word.ts";

const TAKES_PROMPT: ReadonlySet<string> = new Set(["generate", "compare"]);

export function takesPrompt(command: Command): boolean {
  return TAKES_PROMPT.has(command.name());
}

/** A command line, ready to paste. */
export function commandLine(words: readonly string[]): string {
  return ["imggen", ...words.map((word) => shellWord(word))].join(" ");
}

/**
 * The same words with a prompt that was typed without quotes as one of them.
 * @param argv the whole line
 * @param command of `argv`, or the one that is to be proposed for it: `argv` then begins with the prompt
 */
export function withOnePrompt(argv: readonly string[], command: Command): string[] {
  const operands = operandsAt(argv, command);
  const isNamed = argv[operands[0] ?? -1] === command.name();
  const [first = -1, ...rest] = isNamed ? operands.slice(1) : operands;
  const prompt = [first, ...rest].map((at) => argv[at]).join(" ");
  return argv.flatMap((word, at) => {
    if (at === first) return isNamed ? [prompt] : [command.name(), prompt];
    return rest.includes(at) ? [] : [word];
  });
}

/** Where in a command line the words stand that are neither an option nor an option's value; the command's name first. */
export function operandsAt(argv: readonly string[], command: Command): number[] {
  const found: number[] = [];
  let optionsEnded = false;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (optionsEnded || !word.startsWith("-") || word === "-") found.push(at);
    else if (word === "--") optionsEnded = true;
    else if (takesNextWord(word, command)) at += 1;
  }
  return found;
}

/** Whether an option's value is the next word, and not a part of this one, as in `--model=z-image` and `-mz-image`. */
function takesNextWord(word: string, command: Command): boolean {
  return optionsOf(command).some(
    ({ long, short, required }) => required && (word === long || word === short),
  );
}

/** What a command takes: its own options and the program's. */
export function optionsOf({ options, parent }: Command): Command["options"] {
  return parent === null ? options : [...options, ...optionsOf(parent)];
}
