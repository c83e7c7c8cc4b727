import { platform } from "node:os";
import path from "node:path";
import { UsageError } from "../lib/error-types.ts";
import { expandHome, homeFolder, requirePath } from "../lib/home-folder.ts";
import type { ProcessContext } from "./this-process.ts";

export interface Folders {
  config: string;
  state: string;
}

/** The folder of the embedded sandbox: its accounts and tasks between runs. */
export function sandboxFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "sandbox");
}

/** The folder of private copies of reference images. */
export function referencesFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "references");
}

/** Cache of servers' models. */
export function modelsFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "models");
}

/** The folder of private copies of workflows. */
export function workflowsFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "workflows");
}

/** The private copy of a workflow. @param sha256 its name */
export function workflowCopy(folders: Pick<Folders, "state">, sha256: string): string {
  return path.join(workflowsFolder(folders), `${path.basename(sha256)}.json`);
}

/**
 * Folders of settings and state: below IMGGEN_HOME, or in the platform's standard folders.
 * @throws UsageError if IMGGEN_HOME is empty or relative, NoHomeError without it and a home folder
 */
export function userFolders({ env }: Pick<ProcessContext, "env">): Folders {
  if (env.IMGGEN_HOME !== undefined) {
    const home = parseHome(env.IMGGEN_HOME);
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
        config: path.join(xdgFolder(env.XDG_CONFIG_HOME, ".config"), "imggen"),
        state: path.join(xdgFolder(env.XDG_STATE_HOME, path.join(".local", "state")), "imggen"),
      };
  }
}

/**
 * The folder that IMGGEN_HOME names. A relative one is refused: the ledger would depend on where a command is run, and
 * what was charged in one folder would not be known in another.
 */
function parseHome(value: string): string {
  const home = expandHome(requirePath(value, "IMGGEN_HOME"));
  if (path.isAbsolute(home)) return home;
  throw new UsageError(`IMGGEN_HOME ${JSON.stringify(value)} must be an absolute path.`, {
    hint: "Nothing was sent. In another folder it would be another ledger, which knows nothing of what was charged.",
  });
}

/** The XDG rule: a relative path in these variables is to be ignored. */
function xdgFolder(value: string | undefined, fallback: string): string {
  return value && path.isAbsolute(value) ? value : path.join(homeFolder(), fallback);
}
