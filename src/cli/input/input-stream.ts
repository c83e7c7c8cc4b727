import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Context, InputStream } from "../session/context.ts";
import type { Session } from "../session/session.ts";

/**
 * The bytes of an input as they arrive, until a signal ends it. Every input is read through this.
 * @param open opens the input, or returns an open one
 * @param complaint the error message, without the reason
 * @throws UsageError if it cannot be read; the signal's reason after a signal
 */
export async function* inputChunks(
  open: () => Promise<InputStream>,
  complaint: string,
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
    throw new UsageError(`${complaint}: ${errorText(error)}.`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}

type Input = Pick<Context, "stdin" | "signal">;

/** The bytes of standard input. @throws as `inputChunks` */
export function standardInput({ stdin, signal }: Input): AsyncGenerator<Buffer> {
  return inputChunks(async () => stdin, "Standard input cannot be read", signal);
}

const MAX_LINE_LENGTH = 64 * 1024;

/**
 * The next line of standard input, without its line end. A terminal stays open for another question.
 * @throws UsageError if it cannot be read; the signal's reason
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

/** A secret: typed at the terminal without being shown, or a line of standard input. @throws as `readLine` */
export async function readSecret(question: string, context: Context): Promise<string> {
  const text = context.stdin.isTTY ? await context.askHidden(question) : await readLine(context);
  context.signal.throwIfAborted();
  return text.trim();
}

/**
 * Asks the person at the terminal; anything but `y` or `yes` is no, and so is the end of the input.
 * @param isDefault whether Enter is yes @throws as `readLine`
 */
export async function isAgreed(
  question: string,
  { console, context }: Session,
  isDefault = false,
): Promise<boolean> {
  await context.terminalIsSilent?.();
  await console.question(`${question} ${isDefault ? "[Y/n]" : "[y/N]"} `);
  let isAnswered = false;
  try {
    const answer = await readLine(context);
    isAnswered = context.stdin.readableEnded !== true;
    if (isDefault && isAnswered && answer.trim() === "") return true;
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    if (!isAnswered) await console.endQuestion();
  }
}

/**
 * Asks for confirmation, unless `--yes` is given. @param refusal message without a terminal
 * @throws UsageError if there is no terminal; as `readLine`
 */
export async function isAgreedOrYes(
  question: string,
  refusal: string,
  yes: boolean | undefined,
  session: Session,
): Promise<boolean> {
  if (yes) return true;
  if (!canAsk(session)) throw new UsageError(refusal, { hint: "To confirm it: --yes" });
  return isAgreed(question, session);
}

/** Whether a person runs the command, who can be asked what a program need not answer. */
export function isForPerson(session: Session): boolean {
  const { options, console, context } = session;
  return canAsk(session) && !(options.json || console.quiet || console.events || context.env.CI);
}

/** Whether there is a person at a terminal who can be asked. */
export function canAsk({ context: { stdin, stderr } }: Session): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}
