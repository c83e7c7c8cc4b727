import path from "node:path";
import { errorCode } from "../lib/error-code.ts";
import { StateFolderError } from "../store/errors.ts";

/** Where the sandbox keeps its accounts and tasks between runs. */
export function sandboxFolder({ state }: { state: string }): string {
  return path.join(state, "sandbox");
}

/**
 * Starts a service that keeps its tasks in a folder.
 * @throws StateFolderError if the disk refuses that folder; of the port, what the system says
 */
export async function startIn<Service>(folder: string, start: () => Promise<Service>): Promise<Service> {
  try {
    return await start();
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
