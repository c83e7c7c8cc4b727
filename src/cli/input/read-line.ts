import type { Context } from "../app/context.ts";

const LONGEST_LINE = 64 * 1024;

/** The first line of standard input, without its line end. */
export async function readLine({ stdin, signal }: Pick<Context, "stdin" | "signal">): Promise<string> {
  const stop = () => stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  let text = "";
  try {
    for await (const chunk of stdin) {
      text += chunk.toString("utf8");
      if (text.includes("\n") || text.length > LONGEST_LINE) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  return text.split("\n", 1)[0]?.replace(/\r$/, "") ?? "";
}
