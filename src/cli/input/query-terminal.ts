import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { createSupportsTerminalGraphics } from "supports-terminal-graphics";
import { type GraphicsSupport, isCompleteAnswer } from "../../graphics/terminal.ts";
import { foldQuestion } from "../text/fit.ts";

interface Terminal {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  /** Called for Ctrl-C, which raw mode delivers as input instead of a signal. */
  onInterrupt: () => void;
}

/**
 * Asks on the terminal and reads a line. Keeps the input open for another question.
 * @param isHidden whether to hide the typed text
 * @returns the line; empty if the input ended
 */
export function ask(
  question: string,
  { input, output, onInterrupt }: Terminal,
  isHidden: boolean,
): Promise<string> {
  const nullOutput = new Writable({ write: (_chunk, _encoding, done) => done() });
  const folded = foldQuestion(question, output);
  const lastLine = folded.lastIndexOf("\n") + 1;
  const lines = createInterface({ input, output: isHidden ? nullOutput : output, terminal: true });
  // Written only now, because the terminal echoes input until the line editor has disabled that. The editor's prompt is
  // only the last line, because it rewrites its prompt while an answer is edited.
  output.write(isHidden ? folded : folded.slice(0, lastLine));
  return new Promise((resolve) => {
    let answer = "";
    lines.on("line", (line) => {
      answer = line;
      lines.close();
    });
    lines.on("SIGINT", () => {
      lines.close();
      onInterrupt();
    });
    lines.on("close", () => {
      // A visible answer has already ended its line.
      if (isHidden || answer === "") output.write("\n");
      resolve(answer);
    });
    if (isHidden) return;
    lines.setPrompt(folded.slice(lastLine));
    lines.prompt();
  });
}

const REPLY_TIMEOUT_MS = 500;
/** Time in which a late reply is read and discarded, in milliseconds. */
const LATE_REPLY_TIMEOUT_MS = 2_000;
const CTRL_C = "\u0003";

export interface Query {
  /** The reply; empty if it was not complete within half a second, or after Ctrl-C. */
  answer: Promise<string>;
  /** Resolves when no late reply is expected. A reply after the exit would appear as input of the shell. */
  end: Promise<void>;
}

/**
 * Sends a query that ends with a request for the terminal's primary attributes, and reads until their reply. Disables
 * echo meanwhile; Ctrl-C still causes SIGINT.
 */
export function queryTerminal(question: string, { input, output, onInterrupt }: Terminal): Query {
  if (!input.isTTY || !output.isTTY) return { answer: Promise.resolve(""), end: Promise.resolve() };
  let received = "";
  const [answer, end] = [deferred<string>(), deferred<void>()];
  const finish = () => {
    answer.resolve(isCompleteAnswer(received) ? received : "");
    for (const timer of timers) clearTimeout(timer);
    input.off("data", onData);
    input.pause();
    input.setRawMode(false);
    end.resolve();
  };
  const onData = (bytes: Buffer) => {
    const text = bytes.toString("latin1");
    received += text;
    if (isCompleteAnswer(received)) finish();
    if (!text.includes(CTRL_C)) return;
    answer.resolve("");
    onInterrupt();
  };
  // If the process was blocked, a timer fires before input that arrived in the meantime is read.
  const afterInput = (callback: () => void) => () => void setImmediate(callback);
  const timers = [
    setTimeout(
      afterInput(() => answer.resolve("")),
      REPLY_TIMEOUT_MS,
    ),
    setTimeout(afterInput(finish), LATE_REPLY_TIMEOUT_MS),
  ];
  input.setRawMode(true);
  input.on("data", onData);
  output.write(question);
  return { answer: answer.promise, end: end.promise };
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((take) => {
    resolve = take;
  });
  return { promise, resolve };
}

export function detectEnvironmentGraphics(output: NodeJS.WriteStream): GraphicsSupport {
  return createSupportsTerminalGraphics(output);
}
