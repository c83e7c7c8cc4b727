import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { createSupportsTerminalGraphics } from "supports-terminal-graphics";
import { type GraphicsSupport, isCompleteAnswer } from "../../graphics/terminal.ts";
import { foldQuestion } from "../text/fit.ts";

interface Terminal {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  /** Called for Ctrl-C, because raw mode delivers Ctrl-C as input instead of a signal. */
  onInterrupt: () => void;
}

/** Reads an answer, and keeps the input open for further answers. @returns the line; empty if the input ended */
export function ask(
  question: string,
  { input, output, onInterrupt }: Terminal,
  isHidden: boolean,
): Promise<string> {
  const nullOutput = new Writable({ write: (_chunk, _encoding, done) => done() });
  const foldedQuestion = foldQuestion(question, output);
  const lastLine = foldedQuestion.lastIndexOf("\n") + 1;
  const lines = createInterface({ input, output: isHidden ? nullOutput : output, terminal: true });
  // The echo is already disabled. Only the last line is the editor's prompt, because the editor rewrites its prompt.
  output.write(isHidden ? foldedQuestion : foldedQuestion.slice(0, lastLine));
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
      // After a visible answer, the line editor has already written a line break.
      if (isHidden || answer === "") output.write("\n");
      resolve(answer);
    });
    if (isHidden) return;
    lines.setPrompt(foldedQuestion.slice(lastLine));
    lines.prompt();
  });
}

const REPLY_TIMEOUT_MS = 500;
/** Time in which a late reply is discarded, in milliseconds. */
const LATE_REPLY_TIMEOUT_MS = 2_000;
const CTRL_C = "\u0003";

export interface Query {
  /** Empty if the reply is incomplete after half a second, or if the user presses Ctrl-C. */
  answer: Promise<string>;
  /** Resolves when no late reply can come. Await it before the exit, because the shell would read a later reply. */
  end: Promise<void>;
}

/**
 * Sends a query and reads the replies. The query must end with a request for the terminal's primary attributes, because
 * the reply to this request marks the end of the replies. Disables echo while reading; Ctrl-C still causes SIGINT.
 */
export function queryTerminal(question: string, { input, output, onInterrupt }: Terminal): Query {
  if (!input.isTTY || !output.isTTY) return { answer: Promise.resolve(""), end: Promise.resolve() };
  let receivedText = "";
  const [answer, end] = [deferred<string>(), deferred<void>()];
  const finish = () => {
    answer.resolve(isCompleteAnswer(receivedText) ? receivedText : "");
    for (const timer of timers) clearTimeout(timer);
    input.off("data", onData);
    input.pause();
    input.setRawMode(false);
    end.resolve();
  };
  const onData = (bytes: Buffer) => {
    const text = bytes.toString("latin1");
    receivedText += text;
    if (isCompleteAnswer(receivedText)) finish();
    if (!text.includes(CTRL_C)) return;
    answer.resolve("");
    onInterrupt();
  };
  // A timer fires before pending input is read if the process was blocked, so the callback runs after that input.
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
