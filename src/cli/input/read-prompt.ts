import { openInput } from "../../lib/disk-file.ts";
import { UsageError } from "../../lib/error-types.ts";
import { firstInvalidByte } from "../../lib/read-file.ts";
import type { Context } from "../session/context.ts";
import type { Session } from "../session/session.ts";
import { canAsk, inputChunks, standardInput } from "./input-stream.ts";

/** Asks the user for a prompt. @returns null without a terminal */
type Ask = () => Promise<string | null>;

type PromptContext = Pick<Context, "stdin" | "resolvePath" | "signal">;

// No model takes more than 20,000 characters; what is far beyond that is the wrong file.
const MAX_PROMPT_BYTES = 1024 * 1024;

/**
 * The prompt from exactly one source: the argument, a file, standard input (`-`, or no argument with input piped in),
 * or the user at the terminal.
 * @param ask asks the user; resolves to null without a terminal. Called only if there is no other source,
 * because opening the terminal takes time
 * @param argumentLabel names the first source in messages
 * @throws UsageError if there are two, or none, or the text is no UTF-8
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
  if (file !== undefined && file !== "-") return promptFromFile(file, context);
  if (argument !== undefined && argument !== "-") return argument;
  const isExplicit = argument === "-" || file === "-";
  if (context.stdin.isTTY && !isExplicit) return typedPrompt(ask, context);
  const text = decode(await readAll(standardInput(context)), "standard input");
  if (text === "" && !isExplicit) throw noPrompt();
  return text;
}

async function typedPrompt(ask: Ask, { signal }: PromptContext): Promise<string> {
  const text = (await ask()) ?? "";
  signal.throwIfAborted();
  if (text.trim() === "") throw noPrompt();
  return text;
}

/** Whether a person is at the terminal, and gets no JSON. */
export function isInteractive(session: Session): boolean {
  return !session.options.json && canAsk(session);
}

/**
 * A prompt written in the user's editor.
 * @param text the initial content @throws UsageError without a terminal, or if the result is blank
 */
export async function editedPrompt(text: string, session: Session): Promise<string> {
  if (!isInteractive(session)) throw new UsageError("--edit needs a terminal, and works without --json.");
  const { edit, signal } = session.context;
  const edited = (await edit(text)).replace(/\s+$/, "");
  signal.throwIfAborted();
  if (edited === "") throw noPrompt();
  return edited;
}

function noPrompt(): UsageError {
  return new UsageError("No prompt was given.", {
    hint: 'Give one in quotes: imggen generate "a lighthouse at dusk"',
  });
}

async function promptFromFile(file: string, { resolvePath, signal }: PromptContext): Promise<string> {
  const filePath = resolvePath(file);
  const chunks = inputChunks(() => openInput(filePath), `--prompt-file ${file} cannot be read`, signal);
  return decode(await readAll(chunks), file);
}

/** All bytes, or a few too many of what is too large, however large it is. */
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

/** Text from bytes: strictly UTF-8, without a byte-order mark and without one line end at its end. */
function decode(bytes: Buffer, source: string): string {
  if (bytes.length > MAX_PROMPT_BYTES) throw new UsageError(`The prompt in ${source} is larger than 1 MiB.`);
  const text = bytes.toString("utf8");
  const invalid = firstInvalidByte(bytes);
  if (invalid !== -1)
    throw new UsageError(`The prompt in ${source} is not valid UTF-8 (at byte ${invalid}).`);
  return text.replace(/^\uFEFF/, "").replace(/\r?\n$/, "");
}
