// Questions on the terminal: to a person, and to the terminal itself.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { createSupportsTerminalGraphics } from "supports-terminal-graphics";
import { isWholeAnswer, type NamedGraphics } from "../../graphics/terminal.ts";
import { foldQuestion } from "../text/fit.ts";

interface Terminal {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  /** Ctrl-C, which is a signal here like anywhere else. */
  onInterrupt: () => void;
}

/**
 * Asks on the terminal and reads a line, which stays open for another question. Resolves with an empty text where the
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

const LONGEST_WAIT_MS = 100;
const CTRL_C = "\u0003";

/**
 * Sends the terminal a query and returns its answer, or the part of it that arrived within 100 ms. The terminal does not
 * echo meanwhile; Ctrl-C still sends SIGINT.
 */
export function queryTerminal(question: string, { input, output, onInterrupt }: Terminal): Promise<string> {
  if (!input.isTTY || !output.isTTY) return Promise.resolve("");
  return new Promise((resolve) => {
    let answer = "";
    const end = () => {
      clearTimeout(timer);
      input.off("data", read);
      input.pause();
      input.setRawMode(false);
      resolve(answer);
    };
    const read = (bytes: Buffer) => {
      answer += bytes.toString("latin1");
      if (answer.includes(CTRL_C)) onInterrupt();
      if (answer.includes(CTRL_C) || isWholeAnswer(answer)) end();
    };
    const timer = setTimeout(end, LONGEST_WAIT_MS);
    input.setRawMode(true);
    input.on("data", read);
    output.write(question);
  });
}

/** The graphics protocols that the environment of this process names. */
export function namedGraphics(output: NodeJS.WriteStream): NamedGraphics {
  return createSupportsTerminalGraphics(output);
}
