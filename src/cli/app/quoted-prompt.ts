import type { Command } from "commander";
import { shellWord } from "../../lib/shell-word.ts";

/**
 * The same command line with quotes around a prompt that was typed without them, ready to paste.
 * @param argv the whole line, of which `command` has read its options
 */
export function withQuotedPrompt(argv: readonly string[], command: Command): string {
  const [, first = -1, ...rest] = operandsAt(argv, command);
  const prompt = [first, ...rest].map((at) => argv[at]).join(" ");
  const words = argv.flatMap((word, at) => {
    if (at === first) return [prompt];
    return rest.includes(at) ? [] : [word];
  });
  return ["imggen", ...words.map((word) => shellWord(word))].join(" ");
}

/** Where in a command line the words stand that are neither an option nor an option's value; the command's name first. */
function operandsAt(argv: readonly string[], command: Command): number[] {
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
function takesNextWord(word: string, { options, parent }: Command): boolean {
  return [...options, ...(parent?.options ?? [])].some(
    ({ long, short, required }) => required && (word === long || word === short),
  );
}
