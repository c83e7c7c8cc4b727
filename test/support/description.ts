import type { Description } from "../../src/cli/help/command-tree.ts";
import { runCommand } from "./in-process.ts";

/** What `--help --json` says of the whole program. */
export async function describedProgram(): Promise<Description> {
  const { stdout } = await runCommand(["--help", "--json"], { home: "/nowhere" });
  return JSON.parse(stdout);
}
