import type { Context, InputStream } from "../app/context.ts";
import { inputChunks } from "./input-chunks.ts";

const LONGEST_LINE = 64 * 1024;

/** The next line of standard input, without its line end; it stays open for another. @throws UsageError if it cannot be read; the signal's reason */
export async function readLine({ stdin, signal }: Pick<Context, "stdin" | "signal">): Promise<string> {
  let text = "";
  for await (const chunk of inputChunks(
    async () => keptOpen(stdin),
    "Standard input cannot be read",
    signal,
  )) {
    text += chunk.toString("utf8");
    if (text.includes("\n") || text.length > LONGEST_LINE) break;
  }
  return text.split("\n", 1)[0]?.replace(/\r$/, "") ?? "";
}

/** An input that is not closed where its reader stops before the end. */
function keptOpen(stdin: InputStream): InputStream {
  const chunks = stdin.iterator?.({ destroyOnReturn: false }) ?? stdin;
  return { [Symbol.asyncIterator]: () => chunks[Symbol.asyncIterator](), destroy: () => stdin.destroy() };
}
