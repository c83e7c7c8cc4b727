import { spawn } from "node:child_process";
import { promises } from "node:fs";
import { platform, tmpdir } from "node:os";
import path from "node:path";
import type { Environment } from "../../client/this-process.ts";
import { UsageError } from "../../lib/error-types.ts";

const DEFAULT_EDITOR = platform() === "win32" ? "notepad" : "vi";

/** Opens a text in `$VISUAL` or `$EDITOR`. @returns the saved text @throws UsageError if the editor fails */
export async function editText(text: string, { VISUAL, EDITOR }: Environment): Promise<string> {
  const editor = VISUAL || EDITOR || DEFAULT_EDITOR;
  const folder = await promises.mkdtemp(path.join(tmpdir(), "imggen-prompt-"));
  try {
    const file = path.join(folder, "prompt.txt");
    await promises.writeFile(file, text, { mode: 0o600 });
    const problem = await run(editor, file);
    if (problem !== null) {
      throw new UsageError(`The editor ${JSON.stringify(editor)} ${problem}.`, {
        hint: "Nothing was sent. Set EDITOR to another editor.",
      });
    }
    return await promises.readFile(file, "utf8");
  } finally {
    await promises.rm(folder, { recursive: true, force: true });
  }
}

/** Runs the editor in a shell, so that EDITOR can contain arguments. @returns the problem, or null */
function run(editor: string, file: string): Promise<string | null> {
  const child =
    platform() === "win32"
      ? spawn(`${editor} "${file}"`, { stdio: "inherit", shell: true })
      : spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(`cannot be started (${error.message})`));
    child.on("close", (code) => resolve(code === 0 ? null : `exited with code ${code}`));
  });
}

const START_FAILURE_CODES: ReadonlySet<number | null> = new Set([126, 127]);

/** The user did not choose `less`, so the shell reports no error if it is missing. */
const DEFAULT_PAGER = platform() === "win32" ? "" : "command -v less >/dev/null && exec less; exit 127";

/**
 * Shows a text in `$PAGER`. As in git, a shell runs the pager, and `less` exits at once if the text fits the screen.
 * @returns false if there is no pager, or it cannot be started @throws the reason of `signal` if it is aborted
 */
export async function runPager(text: string, env: Environment, signal: AbortSignal): Promise<boolean> {
  const { PAGER: pager = DEFAULT_PAGER, LESS = "FRX" } = env;
  if (pager === "" || pager === "cat") return false;
  const child = spawn(pager, {
    shell: true,
    stdio: ["pipe", "inherit", "inherit"],
    env: { ...env, LESS },
  });
  // The write fails if the user quits the pager before it has read the whole text.
  child.stdin.on("error", () => {});
  child.stdin.end(text);
  const exitCode = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(127));
    child.on("close", resolve);
  });
  signal.throwIfAborted();
  return !START_FAILURE_CODES.has(exitCode);
}
