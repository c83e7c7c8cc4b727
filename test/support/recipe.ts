import { runProgram } from "./program.ts";

/** What stands below a heading of `imggen help <topic>`, as it would be copied. */
export async function recipe(topic: string, heading: string): Promise<string> {
  const { stdout } = await runProgram(["help", topic]);
  const below = stdout
    .slice(stdout.indexOf(`\n${heading}`) + 1)
    .split("\n")
    .slice(1);
  // A script stands at the margin, and ends at an empty line.
  const script = below.slice(below.indexOf("") + 1);
  if (script[0]?.startsWith("#!")) return `${script.slice(0, script.indexOf("")).join("\n")}\n`;
  const begin = below.findIndex((line) => line.startsWith("    "));
  const end = below.findIndex((line, at) => at > begin && line !== "" && !line.startsWith("    "));
  return below
    .slice(begin, end === -1 ? undefined : end)
    .map((line) => line.slice(4))
    .join("\n");
}
