import { runProgram } from "./program.ts";

/** What stands below a heading of `imggen help <topic>`, as it would be copied. */
export async function recipe(topic: string, heading: string): Promise<string> {
  const { stdout } = await runProgram(["help", topic]);
  const below = stdout.split(`\n${heading}`)[1]?.split("\n").slice(1) ?? [];
  const begin = below.findIndex((line) => line.startsWith("    "));
  const end = below.findIndex((line, at) => at > begin && line !== "" && !line.startsWith("    "));
  return below
    .slice(begin, end === -1 ? undefined : end)
    .map((line) => line.slice(4))
    .join("\n");
}
