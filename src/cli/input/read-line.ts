import type { Context } from "../app/context.ts";
import { inputChunks } from "./input-chunks.ts";
import { keptOpen } from "./input-stream.ts";

const LONGEST_LINE = 64 * 1024;

/**
 * The next line of standard input, without its line end. A terminal stays open for another question.
 * @throws UsageError if it cannot be read; the signal's reason
 */
export async function readLine({ stdin, signal }: Pick<Context, "stdin" | "signal">): Promise<string> {
  const chunks = inputChunks(async () => keptOpen(stdin), "Standard input cannot be read", signal);
  let text = "";
  for await (const chunk of chunks) {
    text += chunk.toString("utf8");
    if (text.includes("\n") || text.length > LONGEST_LINE) break;
  }
  return text.split("\n", 1)[0]?.replace(/\r$/, "") ?? "";
}
