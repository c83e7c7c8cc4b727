import { foldersOf } from "../../client/folders.ts";
import { enableCompileCache } from "./compile-cache.ts";
import { effectiveUserId, processContext } from "./process-context.ts";
import { run } from "./run.ts";
import { leaveSoon } from "./signals.ts";

/** The whole program: arguments in, exit code out. */
export async function main(argv: readonly string[]): Promise<number> {
  const context = processContext();
  const stateFolder = () => foldersOf(context).state;
  const cacheCode = () => enableCompileCache({ stateFolder, env: context.env, userId: effectiveUserId() });
  const exitCode = await run(argv, context, cacheCode);
  leaveSoon(exitCode, context.signal);
  return exitCode;
}
