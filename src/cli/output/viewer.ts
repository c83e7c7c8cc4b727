import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Environment } from "../../client/this-process.ts";
import type { Session } from "../app/session.ts";

/** The command that opens a file as a double click would. */
const OPENERS: { [Name in NodeJS.Platform]?: string } = { darwin: "open", win32: "explorer" };
const USUAL_OPENER = "xdg-open";

/** Long enough for an opener that cannot open the file to exit with an error. */
const OPENING_MS = 500;

/** Opens files with the system's viewer. Where that fails, it is a warning. */
export async function openInViewer(files: readonly string[], session: Session): Promise<void> {
  for (const file of files) {
    const problem = await open(file, session.context.env);
    if (problem === null) continue;
    await session.console.warn(`The image could not be opened: ${problem}.`);
    return;
  }
}

/** @returns what went wrong; null for nothing */
function open(file: string, env: Environment): Promise<string | null> {
  const opener = OPENERS[platform()] ?? USUAL_OPENER;
  return new Promise((resolve) => {
    const child = spawn(opener, [file], { env, stdio: "ignore", detached: true });
    child.unref();
    const timer = setTimeout(() => resolve(null), OPENING_MS);
    const end = (problem: string | null) => {
      clearTimeout(timer);
      resolve(problem);
    };
    child.on("error", ({ message }) => end(`${opener} cannot be started (${message})`));
    // Explorer always ends with 1.
    child.on("exit", (code) =>
      end(code && platform() !== "win32" ? `${opener} failed (exit code ${code})` : null),
    );
  });
}
