import { platform } from "node:os";
import path from "node:path";
import { UsageError } from "../lib/error-types.ts";
import { expandHome, homeFolder, requirePath } from "../lib/home-folder.ts";
import type { ProcessContext } from "./this-process.ts";

export interface Folders {
  config: string;
  state: string;
}

export function sandboxFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "sandbox");
}

export function referencesFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "references");
}

export function modelsFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "models");
}

export function workflowsFolder({ state }: Pick<Folders, "state">): string {
  return path.join(state, "workflows");
}

export function workflowCopy(folders: Pick<Folders, "state">, sha256: string): string {
  return path.join(workflowsFolder(folders), `${path.basename(sha256)}.json`);
}

/**
 * @throws UsageError if IMGGEN_HOME is empty or relative, NoHomeError if neither IMGGEN_HOME nor a home folder is set
 */
export function userFolders({ env }: Pick<ProcessContext, "env">): Folders {
  if (env.IMGGEN_HOME !== undefined) {
    const homePath = parseHome(env.IMGGEN_HOME);
    return { config: path.join(homePath, "config"), state: path.join(homePath, "state") };
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

/** Refuses a relative path, because the ledger and its charges would depend on the working folder. */
function parseHome(value: string): string {
  const home = expandHome(requirePath(value, "IMGGEN_HOME"));
  if (path.isAbsolute(home)) return home;
  throw new UsageError(`IMGGEN_HOME ${JSON.stringify(value)} must be an absolute path.`, {
    hint: "Nothing was sent. A relative path would mean another ledger in each folder, without the earlier charges.",
  });
}

/** Relative paths are ignored, as the XDG specification requires. */
function xdgFolder(value: string | undefined, fallback: string): string {
  return value && path.isAbsolute(value) ? value : path.join(homeFolder(), fallback);
}
