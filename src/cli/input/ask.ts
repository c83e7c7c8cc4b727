import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { foldQuestion } from "../text/fit.ts";

export interface AskingTerminal {
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
  { input, output, onInterrupt }: AskingTerminal,
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
