import { leaveSoon, processContext } from "./context.ts";
import { run } from "./run.ts";

/** The whole program: arguments in, exit code out. */
export async function main(argv: readonly string[]): Promise<number> {
  const exitCode = await run(argv, processContext());
  leaveSoon();
  return exitCode;
}
