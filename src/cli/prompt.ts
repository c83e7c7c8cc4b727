import { createReadStream } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/error-code.ts";
import { UsageError } from "../lib/errors.ts";
import { firstInvalidByte } from "../lib/utf8.ts";
import type { Context } from "./context.ts";

type PromptContext = Pick<Context, "stdin" | "cwd" | "signal">;

// No model takes more than 20,000 characters; what is far beyond that is the wrong file.
const LARGEST_PROMPT_BYTES = 1024 * 1024;

/**
 * The prompt from exactly one source: the argument, a file, or standard input (`-`, or no argument with input
 * piped in). @throws UsageError where there are two, or none, or the text is no UTF-8
 */
export async function readPrompt(
  argument: string | undefined,
  file: string | undefined,
  context: PromptContext,
): Promise<string> {
  if (argument !== undefined && file !== undefined) {
    throw new UsageError("The prompt was given twice: as an argument and with --prompt-file.");
  }
  if (file !== undefined && file !== "-") return promptFromFile(file, context.cwd);
  if (argument !== undefined && argument !== "-") return argument;
  const asked = argument === "-" || file === "-";
  if (context.stdin.isTTY && !asked) throw noPrompt();
  const text = decode(await readAll(context), "standard input");
  if (text === "" && !asked) throw noPrompt();
  return text;
}

function noPrompt(): UsageError {
  return new UsageError("No prompt was given.", {
    hint: 'Give one in quotes: imggen generate "a lighthouse at dusk"',
  });
}

async function promptFromFile(file: string, cwd: string): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    // One byte more than there may be tells a file that is too large, however large it is.
    const stream = createReadStream(path.resolve(cwd, file), { end: LARGEST_PROMPT_BYTES });
    for await (const chunk of stream) chunks.push(chunk);
  } catch (error) {
    throw new UsageError(`--prompt-file ${file} cannot be read (${errorCode(error)}).`, { cause: error });
  }
  return decode(Buffer.concat(chunks), file);
}

async function readAll({ stdin, signal }: PromptContext): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const stop = () => stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stdin) {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > LARGEST_PROMPT_BYTES) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`Standard input cannot be read (${errorCode(error)}).`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  return Buffer.concat(chunks);
}

/** Text from bytes: strictly UTF-8, without a byte-order mark and without one line end at its end. */
function decode(bytes: Buffer, source: string): string {
  if (bytes.length > LARGEST_PROMPT_BYTES)
    throw new UsageError(`The prompt in ${source} is larger than 1 MiB.`);
  const text = bytes.toString("utf8");
  const invalid = firstInvalidByte(bytes);
  if (invalid !== -1)
    throw new UsageError(`The prompt in ${source} is not valid UTF-8 (at byte ${invalid}).`);
  return text.replace(/^\uFEFF/, "").replace(/\r?\n$/, "");
}
