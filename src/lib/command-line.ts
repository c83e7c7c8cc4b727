import path from "node:path";
import { expandHome } from "./home-folder.ts";

/** Shell operators. A command runs without a shell, so the program would receive an operator as an argument. */
const SHELL_OPERATORS: ReadonlySet<string> = new Set(["|", "||", "&&", "&", ";", ">", ">>", "<"]);

const SHELLS = /^(?:(?:ba|da|z|k|fi)?sh|cmd|powershell|pwsh)(?:\.exe)?$/i;

/** Splits a command at white space outside quotes. `\` and `$` are plain text. Returns the words, or the problem. */
export function splitCommand(text: string): string[] | string {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (const character of text) {
    if (quote !== null) {
      if (character === quote) quote = null;
      else word += character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (!/\s/.test(character)) word = (word ?? "") + character;
    else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (quote !== null) return `a quote ${quote} is not closed`;
  if (word !== null) words.push(word);
  return words.length > 0 ? words : "it is empty";
}

export function splitProgramCommand(text: string): string[] | string {
  const words = splitCommand(text);
  if (typeof words === "string") return words;
  const [program = "", ...args] = words;
  return [expandHome(program), ...args];
}

export function findShellOperator(words: readonly string[]): string | undefined {
  return words.find((word) => SHELL_OPERATORS.has(word));
}

/** Whether a placeholder is part of a shell script (`sh -c "paint {prompt}"`), so that its value could run as code. */
export function isInShellScript(placeholder: string, [program = "", ...args]: readonly string[]): boolean {
  const name = path.posix.basename(program.replaceAll("\\", "/"));
  return SHELLS.test(name) && args.some((word) => /\s/.test(word) && word.includes(placeholder));
}

/** Replaces all placeholders in one pass, so that a placeholder inside a value stays unchanged. */
export function fillPlaceholders(
  words: readonly string[],
  values: Readonly<Record<string, string>>,
): string[] {
  return words.map((word) =>
    word.replace(/\{\w+\}/g, (placeholder) => {
      const name = placeholder.slice(1, -1);
      return Object.hasOwn(values, name) ? (values[name] ?? "") : placeholder;
    }),
  );
}
