import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";

/**
 * Checks that a program can be started: by its path, or in one of the folders of PATH. Windows finds programs by rules
 * of its own, and is not asked.
 * @throws the system's error
 */
export async function findProgram(program: string, searchPath: string | undefined): Promise<void> {
  if (platform() === "win32") return;
  const folders = program.includes("/") ? [""] : (searchPath ?? "").split(path.delimiter);
  let problem: unknown;
  for (const folder of folders) {
    try {
      return await access(path.join(folder, program), constants.X_OK);
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}
