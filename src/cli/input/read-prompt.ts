import { openInput } from "../../lib/disk-file.ts";
import { UsageError } from "../../lib/error-types.ts";
import { firstInvalidByte } from "../../lib/read-file.ts";
import type { Context } from "../session/context.ts";
import type { Session } from "../session/session.ts";
import { canAsk, inputChunks, standardInput } from "./input-stream.ts";

type Ask = () => Promise<string | null>;

type PromptContext = Pick<Context, "stdin" | "resolvePath" | "signal">;

// Models support at most 20,000 characters, so a much larger file cannot be a prompt.
const MAX_PROMPT_BYTES = 1024 * 1024;

/**
 * Reads the prompt from exactly one source: the argument, a file, standard input (`-`, or piped input), or the user.
 * @param ask called only if there is no other source
 * @throws UsageError if there are two sources or none, or the text is not valid UTF-8
 */
export async function readPrompt(
  argument: string | undefined,
  file: string | undefined,
  context: PromptContext,
  ask: Ask = async () => null,
  argumentLabel = "as an argument",
): Promise<string> {
  if (argument !== undefined && file !== undefined) {
    throw new UsageError(`The prompt was given twice: ${argumentLabel} and with --prompt-file.`);
  }
  if (file !== undefined && file !== "-") return readPromptFile(file, context);
  if (argument !== undefined && argument !== "-") return argument;
  const isExplicit = argument === "-" || file === "-";
  if (context.stdin.isTTY && !isExplicit) return askForPrompt(ask, context);
  const text = decode(await readAll(standardInput(context)), "standard input");
  if (text === "" && !isExplicit) throw noPromptError();
  return text;
}

async function askForPrompt(ask: Ask, { signal }: PromptContext): Promise<string> {
  const text = (await ask()) ?? "";
  signal.throwIfAborted();
  if (text.trim() === "") throw noPromptError();
  return text;
}

export function isInteractive(session: Session): boolean {
  return !session.options.json && canAsk(session);
}

/** @param text initial content @throws UsageError if there is no terminal, or the result is blank */
export async function editedPrompt(text: string, session: Session): Promise<string> {
  if (!isInteractive(session))
    throw new UsageError("--edit needs a terminal, and cannot be used with --json.");
  const { edit, signal } = session.context;
  const editedText = (await edit(text)).replace(/\s+$/, "");
  signal.throwIfAborted();
  if (editedText === "") throw noPromptError();
  return editedText;
}

function noPromptError(): UsageError {
  return new UsageError("No prompt was given.", {
    hint: 'Give a prompt in quotes: imggen generate "a lighthouse at dusk"',
  });
}

async function readPromptFile(file: string, { resolvePath, signal }: PromptContext): Promise<string> {
  const filePath = resolvePath(file);
  const chunks = inputChunks(() => openInput(filePath), `--prompt-file ${file} cannot be read`, signal);
  return decode(await readAll(chunks), file);
}

async function readAll(input: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_PROMPT_BYTES) break;
  }
  return Buffer.concat(chunks);
}

/** Decodes strict UTF-8, and removes a byte-order mark and one trailing line end. */
function decode(bytes: Buffer, source: string): string {
  if (bytes.length > MAX_PROMPT_BYTES) throw new UsageError(`The prompt in ${source} is larger than 1 MiB.`);
  const text = bytes.toString("utf8");
  const invalidAt = firstInvalidByte(bytes);
  if (invalidAt !== -1)
    throw new UsageError(`The prompt in ${source} is not valid UTF-8 (at byte ${invalidAt}).`);
  return text.replace(/^\uFEFF/, "").replace(/\r?\n$/, "");
}
