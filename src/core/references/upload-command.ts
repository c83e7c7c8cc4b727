import { commandWords, filledWords, isInShellScript, shellOperator } from "../../lib/command-line.ts";
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

/** @param label names the setting in messages @throws UsageError if it cannot be what it is for */
export function parseUploadCommand(text: string, label: string): UploadCommand {
  const words = commandWords(text);
  if (typeof words === "string") throw refused(`${label} cannot be read: ${words}`);
  if (!words.some((word) => word.includes(FILE)))
    throw refused(`${label} has no ${FILE}, which stands for the file's path`);
  const foreign = shellOperator(words);
  if (foreign !== undefined)
    throw refused(
      `${label} holds ${foreign}, and no shell runs it`,
      "Put the steps into a script, and set that with {file} as its argument. Examples: imggen help uploads",
    );
  if (isInShellScript(FILE, words))
    throw refused(
      `${label} puts ${FILE} inside a shell script, where a file name could be run as code`,
      `Write "$1" there, and sh ${FILE} after the script. Examples: imggen help uploads`,
    );
  return { text, words };
}

/** The words to run for a file. @param file its absolute path */
export function wordsFor({ words }: UploadCommand, file: string): string[] {
  return filledWords(words, { file });
}

function refused(
  message: string,
  hint = "For example: my-upload-script {file}. More: imggen help uploads",
): UsageError {
  return new UsageError(`${message}.`, { hint });
}
