import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { UsageError } from "../lib/error-types.ts";
import { settingsFile } from "../store/settings-file.ts";

// A profile is a settings file of its own, in a folder of its name: an account's key and base URL are never mixed with
// another's, and no two profiles have one name.

/** The profile in use, and the flag or variable that selects it. */
export interface Profile {
  name: string;
  source: "flag" | "environment";
  label: string;
}

const PROFILES_FOLDER = "profiles";
/** Lower case alone, because some file systems take Work and work for one. */
const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The folder of a profile's settings. @param label names where the profile was chosen @throws UsageError */
export function profileFolder(configFolder: string, name: string, label: string): string {
  if (PROFILE_NAME.test(name)) return path.join(configFolder, PROFILES_FOLDER, name);
  throw new UsageError(`${label} ${JSON.stringify(name)} is not the name of a profile.`, {
    hint: "Names have lower-case letters, digits, - and _.",
  });
}

/** The names of all profiles, in no order. */
export function profileNames(configFolder: string): string[] {
  const folder = path.join(configFolder, PROFILES_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => PROFILE_NAME.test(name) && hasSettings(path.join(folder, name)));
}

/** The folders of all settings: of those without a name, and of each profile. */
export function settingsFolders(configFolder: string): string[] {
  const profileFolders = profileNames(configFolder).map((name) =>
    path.join(configFolder, PROFILES_FOLDER, name),
  );
  return [configFolder, ...profileFolders];
}

/** A command to paste, for the profile in use. */
export function addProfileFlag(command: string, { profile }: { readonly profile?: Profile | null }): string {
  return profile?.source === "flag" ? `${command} --profile ${profile.name}` : command;
}

/** @throws UsageError if there is no such profile */
export function requireProfile(configFolder: string, name: string, label: string): void {
  if (hasSettings(profileFolder(configFolder, name, label))) return;
  const names = profileNames(configFolder);
  const others = names.length > 0 ? ` Profiles: ${names.join(" ")}` : "";
  throw new UsageError(`There is no profile ${JSON.stringify(name)} (${label}).`, {
    hint: `To make it: imggen login --profile ${name} --base-url <url>${others && `\n${others.trim()}`}`,
  });
}

function hasSettings(folder: string): boolean {
  return existsSync(settingsFile(folder));
}
