import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";

/** Stands for the absolute path of the file to upload. */
const FILE = "{file}";

/** A command that uploads a file and prints its URL. */
export interface UploadCommand {
  /** As it is set. */
  text: string;
  /** The program and its arguments. */
  words: readonly string[];
}

/** Words that only a shell understands, and that the program would get as arguments. */
const SHELL_OPERATORS: ReadonlySet<string> = new Set(["|", "||", "&&", "&", ";", ">", ">>", "<"]);

const SHELLS = /^(?:(?:ba|da|z|k|fi)?sh|cmd|powershell|pwsh)(?:\.exe)?$/i;

/** @param label names the setting in messages @throws UsageError if it cannot be what it is for */
export function parseUploadCommand(text: string, label: string): UploadCommand {
  const words = commandWords(text);
  if (typeof words === "string") throw refused(`${label} cannot be read: ${words}`);
  if (!words.some((word) => word.includes(FILE)))
    throw refused(`${label} has no ${FILE}, which stands for the file's path`);
  const foreign = words.find((word) => SHELL_OPERATORS.has(word));
  if (foreign !== undefined)
    throw refused(
      `${label} holds ${foreign}, and no shell runs it`,
      "Put the steps into a script, and set that with {file} as its argument. Examples: imggen help uploads",
    );
  if (isShellScriptWithFile(words))
    throw refused(
      `${label} puts ${FILE} inside a shell script, where a file name could be run as code`,
      `Write "$1" there, and sh ${FILE} after the script. Examples: imggen help uploads`,
    );
  return { text, words };
}

/** The words to run for a file. @param file its absolute path */
export function wordsFor({ words }: UploadCommand, file: string): string[] {
  return words.map((word) => word.split(FILE).join(file));
}

function isShellScriptWithFile([program = "", ...args]: readonly string[]): boolean {
  const name = path.posix.basename(program.replaceAll("\\", "/"));
  return SHELLS.test(name) && args.some((word) => /\s/.test(word) && word.includes(FILE));
}

function refused(
  message: string,
  hint = "For example: my-upload-script {file}. More: imggen help uploads",
): UsageError {
  return new UsageError(`${message}.`, { hint });
}

/**
 * Splits a command into words, by rules that are the same on every platform: blanks separate words; between two single
 * or two double quotes everything stands for itself. Nothing else is special, backslashes and `$` neither.
 * @returns the words, or what is wrong, as a phrase
 */
export function commandWords(text: string): string[] | string {
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
