import { promises } from "node:fs";
import path from "node:path";
import { SaveFailedError } from "../core/errors.ts";
import { prepareDestination } from "../core/images/prepare-destination.ts";

export interface OutputFolder {
  folder: string;
  /** Note to the agent if images cannot be saved in the server's working folder, else null. */
  note: string | null;
}

interface FolderOptions {
  folder: string;
  isGiven: boolean;
  env: Readonly<Record<string, string | undefined>>;
  state: string;
}

/**
 * Returns the working folder if images can be saved in it, otherwise the pictures folder or the state folder. These
 * fallbacks are needed because clients often start the server in a folder that does not belong to the user.
 */
export async function findOutputFolder({
  folder,
  isGiven,
  env,
  state,
}: FolderOptions): Promise<OutputFolder> {
  if (isGiven || (await isWritable(folder))) return { folder, note: null };
  const pictures = await picturesFolder(env);
  const fallbacks = [
    ...(pictures === null ? [] : [path.join(pictures, "imggen")]),
    path.join(state, "images"),
  ];
  for (const fallback of fallbacks)
    if (await isWritable(fallback))
      return {
        folder: fallback,
        note: `${folder} cannot be written to, so images are saved in ${fallback}.`,
      };
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

/** Returns null if the folder is missing. */
async function picturesFolder(env: FolderOptions["env"]): Promise<string | null> {
  const home = env.HOME ?? env.USERPROFILE;
  if (!home || !path.isAbsolute(home)) return null;
  const config = env.XDG_CONFIG_HOME || path.join(home, ".config");
  const userDirs = await promises.readFile(path.join(config, "user-dirs.dirs"), "utf8").catch(() => "");
  const [, folderSetting] = /^XDG_PICTURES_DIR="(.*)"$/m.exec(userDirs) ?? [];
  const folder =
    folderSetting === undefined
      ? path.join(home, "Pictures")
      : folderSetting.replace(/^\$HOME(?=\/|$)/, home);
  const stats = await promises.stat(folder).catch(() => null);
  // Desktops without a pictures folder set the home folder as pictures folder.
  return stats?.isDirectory() && path.isAbsolute(folder) && path.resolve(folder) !== path.resolve(home)
    ? folder
    : null;
}
