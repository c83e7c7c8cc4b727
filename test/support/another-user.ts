import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import path from "node:path";
import { inject } from "vitest";
import { type ProgramOptions, ROOT } from "./program.ts";
import { hasTool } from "./tools.ts";

/** Only root may become another user. */
export const CAN_BE_ANOTHER_USER = process.getuid?.() === 0 && hasTool("setpriv");

/** The number of a user whom the system does not know. */
export const ANOTHER_USER = 54321;

/** The copy that another user starts, one for all tests of this process. */
let copy: string | undefined;

function copied(): string {
  if (copy !== undefined) return copy;
  // This folder is gone when all tests are over.
  const folder = inject("countsFolder");
  copy = path.join(folder, `program-${process.pid}`);
  for (const part of ["bin", "dist", "package.json"])
    cpSync(path.join(ROOT, part), path.join(copy, part), { recursive: true });
  spawnSync("chmod", ["-R", "a+rX", folder]);
  return copy;
}

/**
 * Options that run the program as a user that the system does not know, without a home folder. What is started is a copy
 * that everyone can read: the clone may be in a folder that only its owner can enter.
 */
export function asAnotherUser(env: ProgramOptions["env"] = {}): ProgramOptions {
  const root = copied();
  return {
    root,
    through: ["setpriv", "--reuid", String(ANOTHER_USER), "--clear-groups"],
    cwd: path.parse(root).root,
    // What a test preloads is in the clone.
    env: { ...env, NODE_OPTIONS: undefined },
  };
}
