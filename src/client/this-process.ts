import path from "node:path";
import { SaveFailedError } from "../core/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { errorText } from "../lib/error-text.ts";
import { withHomeFolder } from "../lib/home-folder.ts";
import { type Processes, systemProcesses } from "../lib/processes.ts";
import type { SandboxOptions } from "../sandbox/server.ts";

export type Environment = Record<string, string | undefined>;

/** What a client takes from its process: the command line's, or that of a program that uses the package. */
export interface ProcessContext {
  env: Environment;
  /**
   * The absolute path of a file that a user named; `~/` is the home folder, where no shell has put it in place. Only a
   * relative one needs the working folder. @throws SaveFailedError if that is gone, NoHomeError
   */
  resolvePath: (file: string) => string;
  /** Mode of saved files: what the umask leaves of rw-rw-rw-. */
  fileMode: number;
  clock: Clock;
  readonly processes: Processes;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Draws the embedded sandbox's images; where it is absent, the sandbox's own painter does. */
  readonly drawPicture?: SandboxOptions["draw"];
  /** Ports on which servers are searched for; absent: the usual ones. */
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
  const expandedPath = withHomeFolder(file);
  try {
    return path.resolve(expandedPath);
  } catch (error) {
    throw new SaveFailedError(`The working folder cannot be used: ${errorText(error)}.`, {
      hint: "Nothing was charged. Change to a folder that exists, or give absolute paths.",
      cause: error,
    });
  }
}
