import {
  fillPlaceholders,
  findShellOperator,
  isInShellScript,
  splitProgramCommand,
} from "../../lib/command-line.ts";
import { UsageError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { redactUrl } from "../../lib/redact.ts";
import { filterEnvironment, nonBlankLines, programFailure, runProgram } from "../../lib/run-program.ts";
import { action, phrase } from "../../lib/wording.ts";
import { isRemoteUrl } from "../../models/rules/images.ts";
import { POLICY } from "../limits/policy.ts";
import type { ReferenceFile } from "./reference-file.ts";

/** Placeholder for the absolute path of the file. */
const FILE = "{file}";

export interface UploadCommand {
  text: string;
  words: readonly string[];
}

/** @param label name of the setting in messages @throws UsageError */
export function parseUploadCommand(text: string, label: string): UploadCommand {
  const words = splitProgramCommand(text);
  if (typeof words === "string") throw refusedError(`${label} cannot be read: ${words}`);
  if (!words.some((word) => word.includes(FILE)))
    throw refusedError(`${label} has no ${FILE}, the placeholder for the file's path`);
  const operator = findShellOperator(words);
  if (operator !== undefined)
    throw refusedError(
      `${label} contains ${operator}, but is not run by a shell`,
      "Put the steps into a script, and use the script as the command: my-upload-script {file}.",
    );
  if (isInShellScript(FILE, words))
    throw refusedError(
      `${label} puts ${FILE} inside a shell script, where a file name could be run as code`,
      `In the script, replace ${FILE} by "$1". After the script, add the arguments: sh ${FILE}.`,
    );
  return { text, words };
}

export function wordsFor({ words }: UploadCommand, file: string): string[] {
  return fillPlaceholders(words, { file });
}

function refusedError(message: string, hint = "For example: my-upload-script {file}."): UsageError {
  return new UsageError(`${message}.`, { hint: [hint, phrase`More: ${action("help", "uploads")}`] });
}

const KEY_VARIABLES = /^IMGGEN_(?:API|GENERATOR)_KEY$/;

/**
 * Uploads a file with the user's command, which runs without a shell and without API keys in its environment.
 * @returns the URL that the command prints
 * @throws UsageError if the command fails or does not print one https URL, InterruptedError; nothing was sent
 */
export async function uploadFile(
  file: ReferenceFile,
  command: UploadCommand,
  env: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<string> {
  const words = wordsFor(command, file.path);
  const environment = filterEnvironment((name) => KEY_VARIABLES.test(name), env);
  const end = await runProgram(words, { env: environment, signal, timeoutMs: POLICY.upload.timeoutMs });
  if (end.kind === "aborted") throw interruptedError(signal, "no");
  if (end.kind === "too_much_output") throw invalidOutputError("too much text", file);
  if (end.kind !== "ended" || end.code !== 0)
    throw uploadError(programFailure(end, words[0] ?? "", POLICY.upload.timeoutMs), file);
  return printedUrl(end.stdout, file);
}

const MAX_URL = 8192;

/** @throws UsageError unless the text is one https URL on one line */
function printedUrl(stdout: string, file: ReferenceFile): string {
  const lines = nonBlankLines(stdout);
  const [line = ""] = lines;
  if (lines.length === 0) throw invalidOutputError("nothing", file);
  if (lines.length > 1) throw invalidOutputError(`${lines.length} lines`, file);
  if (line.length > MAX_URL) throw invalidOutputError(`a line of more than ${MAX_URL} characters`, file);
  if (/\s|\p{Cc}/u.test(line) || !URL.canParse(line) || !isHttps(new URL(line)))
    throw invalidOutputError(JSON.stringify(redactUrl(line).slice(0, 200)), file);
  if (!isRemoteUrl(line)) throw invalidOutputError("a URL without a host after https://", file);
  // The URL is normalised, because the service might parse a backslash differently.
  return new URL(line).href;
}

function isHttps({ protocol, username, password }: URL): boolean {
  return protocol === "https:" && username === "" && password === "";
}

function invalidOutputError(what: string, file: ReferenceFile): UsageError {
  return uploadError(`printed ${what} instead of one https:// URL on one line`, file);
}

/** @param what predicate of the message, such as `printed nothing` */
function uploadError(what: string, { name }: ReferenceFile): UsageError {
  return new UsageError(`${name} was not uploaded: the upload command ${what.replace(/\.$/, "")}.`, {
    hint: [
      phrase`Nothing was charged. To see the command: ${action("run", "config get uploadCommand")}`,
      phrase`\nRequirements and examples: ${action("help", "uploads")}`,
    ],
  });
}
