import { createSupportsTerminalGraphics } from "supports-terminal-graphics";
import { isWholeAnswer, type NamedGraphics } from "../../graphics/terminal.ts";

const LONGEST_WAIT_MS = 100;
const CTRL_C = "\u0003";

/**
 * Sends the terminal a query and returns its answer, or the part of it that arrived within 100 ms. The terminal does not
 * echo meanwhile; Ctrl-C still sends SIGINT.
 */
export function queryTerminal(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  onInterrupt: () => void,
): Promise<string> {
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
