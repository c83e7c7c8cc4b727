import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Environment } from "../../client/this-process.ts";

/** The shell's exit codes for a command that is not executable, or not found. */
const NOT_STARTED: ReadonlySet<number | null> = new Set([126, 127]);

/** Default pager. No message if it is not installed, because it was not requested. */
const DEFAULT_PAGER = platform() === "win32" ? "" : "command -v less >/dev/null && exec less; exit 127";

/**
 * Shows a text in `$PAGER`, on the terminal, until the user leaves it. As git does: a shell runs it, and `less` exits at
 * once if the text fits the screen.
 * @param signal aborts at a signal; the pager keeps the terminal until it exits
 * @returns false if there is none, or it cannot be started
 * @throws the signal's reason
 */
export async function runPager(text: string, env: Environment, signal: AbortSignal): Promise<boolean> {
  const { PAGER: pager = DEFAULT_PAGER, LESS = "FRX" } = env;
  if (pager === "" || pager === "cat") return false;
  const child = spawn(pager, {
    shell: true,
    stdio: ["pipe", "inherit", "inherit"],
    env: { ...env, LESS },
  });
  // A pager that is left before its end reads no further.
  child.stdin.on("error", () => {});
  child.stdin.end(text);
  const exitCode = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(127));
    child.on("close", resolve);
  });
  signal.throwIfAborted();
  return !NOT_STARTED.has(exitCode);
}
