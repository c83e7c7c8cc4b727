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
  /** The only base URL that the key may be sent to. */
  apiKeyBaseUrl?: string;
  /** The only origin that the generator's key may be sent to. */
  generatorKeyOrigin?: string;
};

export const KEY_BINDINGS = ["apiKeyBaseUrl", "generatorKeyOrigin"] as const;

export function isUserSetting(name: keyof Settings): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

export function settingsFile(folder: string): string {
  return path.join(folder, "config.json");
}

/**
 * Returns no settings if the file does not exist. Removes other users' permissions.
 * @throws SettingsError if the file is damaged or cannot be read
 */
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

/** Values that users may write without quotes. */
function isUnquotedValue(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" || value instanceof ExactInteger;
}

/** Binds a key without a bound address, as in files of earlier releases, to the stored base URL. */
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

/** Accepts a byte-order mark and an empty file. @throws SettingsError */
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
