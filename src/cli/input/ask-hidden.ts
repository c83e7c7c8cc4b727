import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/**
 * Asks on the terminal and reads a line without echoing it. Ctrl-C there is a signal like any other.
 * Resolves with an empty text where the input ends first.
 */
export function askHidden(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  onInterrupt: () => void,
): Promise<string> {
  output.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
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
      output.write("\n");
      resolve(answer);
    });
  });
}
