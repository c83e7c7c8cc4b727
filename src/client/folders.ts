import { homedir, platform } from "node:os";
import path from "node:path";
import { errorCode } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { type ProcessContext, requirePath } from "./this-process.ts";

export interface Folders {
  config: string;
  state: string;
}

/** Where private copies of workflows are kept. */
export function workflowsFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "workflows");
}

/** The private copy of a workflow. @param sha256 its name */
export function workflowCopy(folders: Pick<Folders, "state">, sha256: string): string {
  return path.join(workflowsFolder(folders), `${path.basename(sha256)}.json`);
}

/** There is no place for settings and state. */
export class NoHomeError extends UsageError {
  constructor() {
    super("You have no home folder, so there is no place for settings and the ledger.", {
      hint: "Nothing was charged. Set IMGGEN_HOME to a folder that is to hold them.",
    });
  }
}

/**
 * Where settings and state live: under IMGGEN_HOME, else at the platform's own places.
 * @throws UsageError if that is empty, NoHomeError if neither that nor a home folder is known
 */
export function foldersOf({ env, resolvePath }: Pick<ProcessContext, "env" | "resolvePath">): Folders {
  if (env.IMGGEN_HOME !== undefined) {
    const home = resolvePath(requirePath(env.IMGGEN_HOME, "IMGGEN_HOME"));
    return { config: path.join(home, "config"), state: path.join(home, "state") };
  }
  switch (platform()) {
    case "darwin": {
      const library = path.join(homeFolder(), "Library");
      return {
        config: path.join(library, "Preferences", "imggen"),
        state: path.join(library, "Application Support", "imggen"),
      };
    }
    case "win32":
      return {
        config: path.join(env.APPDATA ?? path.join(homeFolder(), "AppData", "Roaming"), "imggen"),
        state: path.join(env.LOCALAPPDATA ?? path.join(homeFolder(), "AppData", "Local"), "imggen"),
      };
    default:
      return {
        config: path.join(xdg(env.XDG_CONFIG_HOME, ".config"), "imggen"),
        state: path.join(xdg(env.XDG_STATE_HOME, path.join(".local", "state")), "imggen"),
      };
  }
}

/** @throws NoHomeError if neither the environment nor the system knows one */
function homeFolder(): string {
  let home = "";
  try {
    home = homedir();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
  if (path.isAbsolute(home)) return home;
  throw new NoHomeError();
}

/** The XDG rule: a relative path in these variables is to be ignored. */
function xdg(value: string | undefined, fallback: string): string {
  return value && path.isAbsolute(value) ? value : path.join(homeFolder(), fallback);
}
