import path from "node:path";
import { errorCode } from "../lib/error-code.ts";
import { StateFolderError } from "../store/errors.ts";

/**
 * Starts a sandbox where it keeps its accounts and tasks between runs.
 * @throws StateFolderError if the disk refuses that folder; of the port, what the system says
 */
export async function startInSandboxFolder<Sandbox>(
  { folders }: { folders: { state: string } },
  start: (folder: string) => Promise<Sandbox>,
): Promise<Sandbox> {
  const folder = path.join(folders.state, "sandbox");
  try {
    return await start(folder);
  } catch (error) {
    if (errorCode(error) === undefined || isOfPort(error)) throw error;
    throw new StateFolderError(folder, error, {
      hint: "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.",
    });
  }
}

/** Whether a system error says that a port could not be opened. */
export function isOfPort(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}
