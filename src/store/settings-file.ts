import { chmodSync, statSync } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { errorCode, errorText } from "../lib/error-text.ts";
import { ExactInteger, parseExact } from "../lib/exact-integer.ts";
import { isJsonObject } from "../lib/json.ts";
import { readRegular } from "../lib/read-file.ts";
import { SETTING_NAMES, SETTINGS, type SettingName } from "./settings-table.ts";
import { SettingsError } from "./store-errors.ts";

export type Settings = { [Name in SettingName]?: string } & {
  /** The only base URL to which the key is sent. */
  apiKeyBaseUrl?: string;
  /** The only origin to which the generator's key is sent. */
  generatorKeyOrigin?: string;
};

export const KEY_BINDINGS = ["apiKeyBaseUrl", "generatorKeyOrigin"] as const;

export function isUserSetting(name: keyof Settings): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

export function settingsFile(folder: string): string {
  return path.join(folder, "config.json");
}

/** Reads the settings, if any, and removes other users' permissions. @throws SettingsError if damaged or unreadable */
export function readSettings(file: string): Settings {
  let text: string;
  try {
    text = readRegular(file).toString("utf8");
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw new SettingsError("usage", `The settings file ${file} cannot be read: ${errorText(error)}.`, {
      cause: error,
    });
  }
  narrowMode(path.dirname(file), 0o700);
  narrowMode(file, 0o600);
  return parseSettings(text, file);
}

function parseSettings(text: string, file: string): Settings {
  const json = readObject(text, file);
  const settings: Settings = {};
  for (const name of [...SETTING_NAMES, ...KEY_BINDINGS]) {
    const value = Object.hasOwn(json, name) ? json[name] : undefined;
    if (value === undefined) continue;
    if (typeof value !== "string" && !(isUserSetting(name) && isUnquotedValue(value)))
      throw damagedError(file, `"${name}" must be a string`);
    settings[name] = String(value);
  }
  return bindKeys(settings);
}

/** Whether a value is a number or a boolean, which users are allowed to write without quotes. */
function isUnquotedValue(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" || value instanceof ExactInteger;
}

/** Binds a key of an earlier release to the stored base URL. Removes the bindings of missing keys. */
export function bindKeys({ apiKeyBaseUrl, generatorKeyOrigin, ...settings }: Settings): Settings {
  const { apiKey, baseUrl, generatorKey } = settings;
  const boundBaseUrl = apiKey === undefined ? undefined : (apiKeyBaseUrl ?? baseUrl);
  const origin = generatorKey === undefined ? undefined : generatorKeyOrigin;
  return {
    ...settings,
    ...(boundBaseUrl !== undefined && { apiKeyBaseUrl: boundBaseUrl }),
    ...(origin !== undefined && { generatorKeyOrigin: origin }),
  };
}

/** Parses the settings. A byte-order mark and an empty file are allowed. @throws SettingsError */
export function readObject(text: string, file: string): Record<string, unknown> {
  const body = text.replace(/^\uFEFF/, "").trim();
  if (body === "") return {};
  let json: unknown;
  try {
    json = parseExact(body);
  } catch (error) {
    throw damagedError(file, "it is not JSON", error);
  }
  if (!isJsonObject(json)) throw damagedError(file, "it is not a JSON object");
  return json;
}

function damagedError(file: string, why: string, cause?: unknown): SettingsError {
  return new SettingsError("usage", `The settings file is damaged: ${file} (${why}).`, {
    hint: "The file is unchanged. Fix it or move it away, then try again.",
    cause,
  });
}

function narrowMode(file: string, mode: number): void {
  if (platform() === "win32") return;
  try {
    const { mode: currentMode } = statSync(file);
    if ((currentMode & 0o777 & ~mode) !== 0) chmodSync(file, mode);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}
