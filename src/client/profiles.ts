import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { UsageError } from "../lib/error-types.ts";
import { settingsFile } from "../store/settings-file.ts";

// Each profile has its own folder, so that keys and base URLs of accounts are never mixed.

/** The selected profile, and the flag or variable that selects it. */
export interface Profile {
  name: string;
  source: "flag" | "environment";
  label: string;
}

const PROFILES_FOLDER = "profiles";
/** Names are in lower case, because some file systems do not distinguish Work from work. */
const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** @param label name of the flag or variable in messages @throws UsageError */
export function profileFolder(configFolder: string, name: string, label: string): string {
  if (PROFILE_NAME.test(name)) return path.join(configFolder, PROFILES_FOLDER, name);
  throw new UsageError(`${label} ${JSON.stringify(name)} is not a valid profile name.`, {
    hint: "Use lower-case letters, digits, - and _.",
  });
}

export function profileNames(configFolder: string): string[] {
  const folder = path.join(configFolder, PROFILES_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => PROFILE_NAME.test(name) && hasSettings(path.join(folder, name)));
}

export function settingsFolders(configFolder: string): string[] {
  const profileFolders = profileNames(configFolder).map((name) =>
    path.join(configFolder, PROFILES_FOLDER, name),
  );
  return [configFolder, ...profileFolders];
}

/** Adds `--profile` to a suggested command, if the user set the flag. */
export function addProfileFlag(command: string, { profile }: { readonly profile?: Profile | null }): string {
  return profile?.source === "flag" ? `${command} --profile ${profile.name}` : command;
}

/** @throws UsageError if the profile does not exist */
export function requireProfile(configFolder: string, name: string, label: string): void {
  if (hasSettings(profileFolder(configFolder, name, label))) return;
  const names = profileNames(configFolder);
  const profilesText = names.length > 0 ? ` Profiles: ${names.join(" ")}` : "";
  throw new UsageError(`There is no profile ${JSON.stringify(name)} (${label}).`, {
    hint: `To make it: imggen login --profile ${name} --base-url <url>${profilesText && `\n${profilesText.trim()}`}`,
  });
}

function hasSettings(folder: string): boolean {
  return existsSync(settingsFile(folder));
}
