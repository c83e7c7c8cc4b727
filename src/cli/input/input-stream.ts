import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Context, InputStream } from "../session/context.ts";
import type { Session } from "../session/session.ts";

/**
 * @param errorPrefix error message without the reason
 * @throws UsageError if the input cannot be read; the reason of `signal` if it is aborted
 */
export async function* inputChunks(
  open: () => Promise<InputStream>,
  errorPrefix: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  let stop = () => {};
  try {
    const stream = await open();
    stop = () => stream.destroy();
    signal.addEventListener("abort", stop, { once: true });
    for await (const chunk of stream) yield Buffer.from(chunk);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`${errorPrefix}: ${errorText(error)}.`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}

type Input = Pick<Context, "stdin" | "signal">;

/** @throws as `inputChunks` */
export function standardInput({ stdin, signal }: Input): AsyncGenerator<Buffer> {
  return inputChunks(async () => stdin, "Standard input cannot be read", signal);
}

const MAX_LINE_LENGTH = 64 * 1024;

/**
 * Reads the next line of standard input, without the line end. Keeps the stream open for further answers.
 * @throws UsageError if standard input cannot be read; the reason of the signal if it is aborted
 */
export async function readLine({ stdin, signal }: Input): Promise<string> {
  let text = "";
  const chunks = stdin.iterator?.({ destroyOnReturn: false }) ?? stdin;
  const openStdin = {
    [Symbol.asyncIterator]: () => chunks[Symbol.asyncIterator](),
    destroy: () => stdin.destroy(),
  };
  for await (const chunk of standardInput({ stdin: openStdin, signal })) {
    text += chunk.toString("utf8");
    if (text.includes("\n") || text.length > MAX_LINE_LENGTH) break;
  }
  return text.split("\n", 1)[0]?.replace(/\r$/, "") ?? "";
}

/** Reads a secret from standard input; on a terminal, without echo. @throws as `readLine` */
export async function readSecret(question: string, context: Context): Promise<string> {
  const text = context.stdin.isTTY ? await context.askHidden(question) : await readLine(context);
  context.signal.throwIfAborted();
  return text.trim();
}

/**
 * @param isYesDefault whether Enter means yes
 * @returns true only for `y` and `yes`, and for Enter if it means yes @throws as `readLine`
 */
export async function confirm(
  question: string,
  { console, context }: Session,
  isYesDefault = false,
): Promise<boolean> {
  await context.awaitLastQuery?.();
  await console.question(`${question} ${isYesDefault ? "[Y/n]" : "[y/N]"} `);
  let isAnswered = false;
  try {
    const answer = await readLine(context);
    isAnswered = context.stdin.readableEnded !== true;
    if (isYesDefault && isAnswered && answer.trim() === "") return true;
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    if (!isAnswered) await console.endQuestion();
  }
}

/**
 * Asks for confirmation, unless `--yes` is set. @param refusal error message if there is no terminal
 * @throws UsageError if there is no terminal, and as `readLine`
 */
export async function confirmUnlessYes(
  question: string,
  refusal: string,
  yes: boolean | undefined,
  session: Session,
): Promise<boolean> {
  if (yes) return true;
  if (!canAsk(session)) throw new UsageError(refusal, { hint: "To confirm, add --yes." });
  return confirm(question, session);
}

/** Whether optional questions are allowed. */
export function isForPerson(session: Session): boolean {
  const { options, console, context } = session;
  return canAsk(session) && !(options.json || console.quiet || console.events || context.env.CI);
}

export function canAsk({ context: { stdin, stderr } }: Session): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}
