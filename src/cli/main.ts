import { processContext } from "./context.ts";
import { run } from "./run.ts";

/** The whole program: arguments in, exit code out. */
export function main(argv: readonly string[]): Promise<number> {
  return run(argv, processContext());
}
