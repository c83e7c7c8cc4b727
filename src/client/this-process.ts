import path from "node:path";
import { SaveFailedError } from "../core/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { errorText } from "../lib/error-text.ts";
import { expandHome } from "../lib/home-folder.ts";
import { type Processes, systemProcesses } from "../lib/processes.ts";
import type { SandboxOptions } from "../sandbox/server.ts";

export type Environment = Record<string, string | undefined>;

export interface ProcessContext {
  env: Environment;
  /** Expands `~/`. @throws SaveFailedError for a relative path if the working folder is missing, NoHomeError */
  resolvePath: (file: string) => string;
  /** Mode of saved files: rw-rw-rw- without the umask's bits. */
  fileMode: number;
  clock: Clock;
  readonly processes: Processes;
  random: () => number;
  /** Draws images of the embedded sandbox. Default: the sandbox's painter. */
  readonly drawPicture?: SandboxOptions["draw"];
  readonly localPorts?: readonly number[];
}

export function thisProcess(): ProcessContext {
  return {
    env: process.env,
    resolvePath,
    fileMode: 0o666 & ~process.umask(),
    clock: systemClock,
    processes: systemProcesses(),
    random: Math.random,
  };
}

function resolvePath(file: string): string {
  const expandedPath = expandHome(file);
  try {
    return path.resolve(expandedPath);
  } catch (error) {
    throw new SaveFailedError(`The working folder cannot be used: ${errorText(error)}.`, {
      hint: "Nothing was charged. Change to a folder that exists, or give absolute paths.",
      cause: error,
    });
  }
}
