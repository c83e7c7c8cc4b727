// Questions on the terminal: to a person, and to the terminal itself.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { createSupportsTerminalGraphics } from "supports-terminal-graphics";
import { type GraphicsSupport, isWholeAnswer } from "../../graphics/terminal.ts";
import { foldQuestion } from "../text/fit.ts";

interface Terminal {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  /** Ctrl-C, which is a signal here like anywhere else. */
  onInterrupt: () => void;
}

/**
 * Asks on the terminal and reads a line, which stays open for another question. Resolves with an empty text if the
 * input ends first.
 * @param isHidden whether what is typed is not shown
 */
export function ask(
  question: string,
  { input, output, onInterrupt }: Terminal,
  isHidden: boolean,
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const folded = foldQuestion(question, output);
  const lastLine = folded.lastIndexOf("\n") + 1;
  const lines = createInterface({ input, output: isHidden ? silent : output, terminal: true });
  // Not before: until the line editor has the terminal, that shows what is typed. The editor is told of the last line
  // alone, because it writes its prompt again while an answer is edited.
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
      // A line that was shown has its end already, unless it was cut short.
      if (isHidden || answer === "") output.write("\n");
      resolve(answer);
    });
    if (isHidden) return;
    lines.setPrompt(folded.slice(lastLine));
    lines.prompt();
  });
}

/** Maximum time to wait for an answer that is used. */
const LONGEST_WAIT_MS = 500;
/** Time in which a late answer is read and dropped. A terminal that has not begun one by then sends none. */
const LATEST_ANSWER_MS = 2_000;
const CTRL_C = "\u0003";

export interface Query {
  /** The answer; empty if the terminal has not sent all of it within half a second, or the user has pressed Ctrl-C. */
  answer: Promise<string>;
  /** The end of the answer, used or not. Whatever the terminal sends after the program's end is typed at the next prompt. */
  isOver: Promise<void>;
}

/**
 * Sends the terminal a query that ends with a request for its primary attributes, and reads until it answers that. The
 * terminal does not echo meanwhile; Ctrl-C still sends SIGINT.
 */
export function queryTerminal(question: string, { input, output, onInterrupt }: Terminal): Query {
  if (!input.isTTY || !output.isTTY) return { answer: Promise.resolve(""), isOver: Promise.resolve() };
  let read = "";
  const [answer, isOver] = [deferred<string>(), deferred<void>()];
  const end = () => {
    answer.resolve(isWholeAnswer(read) ? read : "");
    for (const timer of timers) clearTimeout(timer);
    input.off("data", onData);
    input.pause();
    input.setRawMode(false);
    isOver.resolve();
  };
  const onData = (bytes: Buffer) => {
    const text = bytes.toString("latin1");
    read += text;
    if (isWholeAnswer(read)) end();
    if (!text.includes(CTRL_C)) return;
    answer.resolve("");
    onInterrupt();
  };
  // After other work has blocked the process, a timer fires before the input that arrived meanwhile is read.
  const afterInput = (then: () => void) => () => void setImmediate(then);
  const timers = [
    setTimeout(
      afterInput(() => answer.resolve("")),
      LONGEST_WAIT_MS,
    ),
    setTimeout(afterInput(end), LATEST_ANSWER_MS),
  ];
  input.setRawMode(true);
  input.on("data", onData);
  output.write(question);
  return { answer: answer.promise, isOver: isOver.promise };
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((take) => {
    resolve = take;
  });
  return { promise, resolve };
}

/** The graphics protocols that the environment of this process names. */
export function namedGraphics(output: NodeJS.WriteStream): GraphicsSupport {
  return createSupportsTerminalGraphics(output);
}
