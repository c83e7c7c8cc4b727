import { promises } from "node:fs";
import path from "node:path";
import { SaveFailedError } from "../core/errors.ts";
import { prepareDestination } from "../core/images/prepare-destination.ts";

/** Folder for images. */
export interface OutputFolder {
  /** Absolute. */
  folder: string;
  /** Note to the agent if it is not the folder that the server was started in; else null. */
  note: string | null;
}

interface FolderOptions {
  /** Absolute. */
  folder: string;
  /** Whether the user has set it: then there is no fallback. */
  isGiven: boolean;
  env: Readonly<Record<string, string | undefined>>;
  /** imggen's state folder. */
  state: string;
}

/**
 * The folder that the server was started in, if images can be written there. Many clients start it in a folder that
 * is not the user's: then their pictures folder, else the state folder.
 */
export async function outputFolder({ folder, isGiven, env, state }: FolderOptions): Promise<OutputFolder> {
  if (isGiven || (await isWritable(folder))) return { folder, note: null };
  const pictures = await picturesFolder(env);
  const others = [...(pictures === null ? [] : [path.join(pictures, "imggen")]), path.join(state, "images")];
  for (const other of others)
    if (await isWritable(other))
      return { folder: other, note: `${folder} cannot be written to, so images are saved in ${other}.` };
  return { folder, note: null };
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await prepareDestination({ kind: "file", path: path.join(folder, "image"), overwrite: false });
    return true;
  } catch (error) {
    if (error instanceof SaveFailedError) return false;
    throw error;
  }
}

/** The user's pictures folder, by the XDG directories or its usual name; null if there is none. */
async function picturesFolder(env: FolderOptions["env"]): Promise<string | null> {
  const home = env.HOME ?? env.USERPROFILE;
  if (!home || !path.isAbsolute(home)) return null;
  const config = env.XDG_CONFIG_HOME || path.join(home, ".config");
  const dirs = await promises.readFile(path.join(config, "user-dirs.dirs"), "utf8").catch(() => "");
  const [, folderSetting] = /^XDG_PICTURES_DIR="(.*)"$/m.exec(dirs) ?? [];
  const folder =
    folderSetting === undefined
      ? path.join(home, "Pictures")
      : folderSetting.replace(/^\$HOME(?=\/|$)/, home);
  const stats = await promises.stat(folder).catch(() => null);
  // Desktops without such a folder have the home folder here.
  return stats?.isDirectory() && path.isAbsolute(folder) && path.resolve(folder) !== path.resolve(home)
    ? folder
    : null;
}
