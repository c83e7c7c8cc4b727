import { spawnSync } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import path from "node:path";
import { type ProgramOptions, ROOT } from "./program.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTool } from "./tools.ts";

/** Only root may become another user. */
export const CAN_BE_ANOTHER_USER = process.getuid?.() === 0 && hasTool("setpriv");

/**
 * Options that run the program as a user that the system does not know, without a home folder. What is started is a copy
 * that everyone can read: the clone may be in a folder that only its owner can enter.
 */
export async function asAnotherUser(env: ProgramOptions["env"] = {}): Promise<ProgramOptions> {
  const root = path.join(await temporaryFolder(), "program");
  await mkdir(root);
  for (const part of ["bin", "dist", "package.json"])
    await cp(path.join(ROOT, part), path.join(root, part), { recursive: true });
  spawnSync("chmod", ["-R", "a+rX", path.dirname(root)]);
  return {
    root,
    through: ["setpriv", "--reuid", "54321", "--clear-groups"],
    cwd: path.parse(root).root,
    // What a test preloads is in the clone.
    env: { NODE_OPTIONS: undefined, ...env },
  };
}
