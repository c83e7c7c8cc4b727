import path from "node:path";
import { UsageError } from "../lib/error-types.ts";
import { requirePath } from "../lib/home-folder.ts";
import { isServerKey } from "../lib/redact.ts";
import { parseWholeNumberOption } from "../lib/whole-number.ts";
import { action, option, phrase } from "../lib/wording.ts";
import { isUserSetting, readSettings, type Settings, settingsFile } from "../store/settings-file.ts";
import type { SettingsStore } from "../store/settings-store.ts";
import { isGeneratorSetting, SETTING_NAMES, SETTINGS, type SettingName } from "../store/settings-table.ts";
import { SettingsError } from "../store/store-errors.ts";
import { GENERATOR } from "./options/global-options.ts";
import { type FlagsOf, longFlag, type Options } from "./options/option.ts";
import type { Environment, ProcessContext } from "./this-process.ts";

type SettingSource = "flag" | "environment" | "config" | "default";

/** Value of a setting, and its origin. `label` is the origin's name in messages, such as `--model`. */
export interface EffectiveValue {
  value: string;
  source: SettingSource;
  label: string;
}

/** Formats `workflow fox.json from config.json` or `--workflow fox.json`. */
export function describeSetting(name: SettingName, { value, source, label }: EffectiveValue): string {
  const displayValue = isPath(name) ? path.basename(value) : value;
  return source === "config" ? `${name} ${displayValue} from config.json` : `${label} ${displayValue}`;
}

/** @throws UsageError unless the text is `true` or `false` */
export function parseSwitch(label: string, text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new UsageError(`${label} must be true or false.`);
}

export type SettingFlags = { readonly [Name in SettingName]?: { value: string; label: string } };

/** Flags override the environment, which overrides the config file. The file is read once, on demand. */
export class EffectiveSettings {
  readonly #env: Environment;
  readonly #read: () => Settings;
  #flags: SettingFlags;
  readonly #isSandbox: boolean;
  #file: Settings | undefined;

  /** @param read throws SettingsError if the file is damaged */
  constructor(env: Environment, read: () => Settings, flags: SettingFlags = {}, isSandbox = false) {
    this.#env = env;
    this.#read = read;
    this.#flags = flags;
    this.#isSandbox = isSandbox;
  }

  /** Discards the values of the config file, so that a long-lived client reads later changes of the file. */
  forget(): void {
    this.#file = undefined;
  }

  /** Returns the effective value, if any. @throws SettingsError, UsageError for an empty path */
  get(name: keyof Settings, flag?: { value: string | undefined; label: string }): EffectiveValue | undefined {
    if (flag?.value === undefined) return this.#fromFlagOrEnvironment(name) ?? this.stored(name);
    return requireValidPath(name, { value: flag.value, source: "flag", label: flag.label });
  }

  /**
   * Returns the generator for new requests.
   * @throws UsageError if one source sets a generator and a base URL, or a flag for generators has no effect
   */
  generator(): EffectiveValue | undefined {
    const { field = this.#flags.fieldJson } = this.#flags;
    if (this.#isSandbox && field !== undefined)
      throw new UsageError(`${field.label} is for a generator, and the sandbox does not support it.`, {
        hint: phrase`Nothing was sent. Omit ${field.label} or ${option("sandbox")}.`,
      });
    if (this.#isSandbox) return undefined;
    const generator = this.#generatorInEffect();
    const [strayFlag] = Object.values(this.#flags);
    if (generator === undefined && strayFlag !== undefined)
      throw new UsageError(`${strayFlag.label} is for a generator, but no generator is set.`, {
        hint: [phrase`Add ${option("generator")} <spec>.`, phrase`More: ${action("help", "generators")}`],
      });
    return generator;
  }

  #generatorInEffect(): EffectiveValue | undefined {
    const generator = this.#fromFlagOrEnvironment("generator");
    if (generator?.source === "flag") return generator;
    const baseUrl = this.#fromFlagOrEnvironment("baseUrl");
    if (generator !== undefined || baseUrl !== undefined) return requireSingleTarget(generator, baseUrl);
    return requireSingleTarget(this.stored("generator"), this.stored("baseUrl"));
  }

  /** @throws SettingsError */
  stored(name: keyof Settings): EffectiveValue | undefined {
    this.#file ??= this.#read();
    const value = this.#file[name];
    return value === undefined
      ? undefined
      : requireValidPath(name, { value, source: "config", label: `${name} from config.json` });
  }

  /** Sets a value for the rest of this run, unless a flag sets the same setting. */
  prefer(name: SettingName, value: string, label: string): void {
    this.#flags = { [name]: { value, label }, ...this.#flags };
  }

  get flags(): SettingFlags {
    return this.#flags;
  }

  flag(name: SettingName): EffectiveValue | undefined {
    const flag = this.#flags[name];
    return flag && requireValidPath(name, { ...flag, source: "flag" });
  }

  #fromFlagOrEnvironment(name: keyof Settings): EffectiveValue | undefined {
    if (!isUserSetting(name)) return undefined;
    const flag = this.flag(name);
    if (flag !== undefined) return flag;
    const { variable } = SETTINGS[name];
    const fromEnv = variable && this.#env[variable];
    return variable && (fromEnv || (fromEnv === "" && isPath(name)))
      ? requireValidPath(name, { value: fromEnv, source: "environment", label: variable })
      : undefined;
  }

  /** @throws UsageError unless the setting is true or false */
  isOn(name: SettingName, flag = false): boolean {
    if (flag) return true;
    const setting = this.get(name);
    return setting !== undefined && parseSwitch(setting.label, setting.value);
  }

  /** Returns the setting `confirmAbove`, in credits. @throws UsageError unless the setting is a number */
  confirmAbove(): number {
    return this.#credits("confirmAbove") ?? Number(SETTINGS.confirmAbove.default);
  }

  /** Returns the maximum cost per key and day in credits, or null for no limit. @throws UsageError */
  dailyCredits(): number | null {
    return this.#credits("dailyCredits");
  }

  #credits(name: SettingName): number | null {
    const setting = this.get(name);
    return setting ? parseWholeNumberOption(setting.label, setting.value, { min: 0 }) : null;
  }
}

/** @throws UsageError for an empty path */
function requireValidPath(name: keyof Settings, setting: EffectiveValue): EffectiveValue {
  if (isPath(name)) requirePath(setting.value, setting.label);
  return setting;
}

function isPath(name: keyof Settings): boolean {
  return isUserSetting(name) && ["folder", "matrix", "workflow"].includes(SETTINGS[name].type);
}

/**
 * @throws UsageError for both a generator and a base URL, because only the user can decide which is allowed to charge
 */
function requireSingleTarget(
  generator: EffectiveValue | undefined,
  baseUrl: EffectiveValue | undefined,
): EffectiveValue | undefined {
  if (generator === undefined || baseUrl === undefined) return generator;
  const hint =
    generator.source === "environment"
      ? `Nothing was sent. Unset ${generator.label} or ${baseUrl.label}.`
      : phrase`Nothing was sent. Keep one of them: ${action("run", "config unset generator")}, or ${action("run", "config unset baseUrl")}`;
  throw new UsageError(`Both ${generator.label} and ${baseUrl.label} are set.`, { hint });
}

/** Returns the key if it belongs to an `imggen serve`. Ignores damaged settings, which a later read reports. */
export function serverKey(settings: Pick<EffectiveSettings, "get">): EffectiveValue | undefined {
  try {
    const key = settings.get("apiKey");
    return key !== undefined && isServerKey(key.value) ? key : undefined;
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}

/** @throws SettingsError if the file is damaged */
export function storedSettings(configFolder: string): Settings {
  return readSettings(settingsFile(configFolder));
}

/** Imports the store on demand, because most commands only read settings. */
export async function openSettingsStore(
  folder: string,
  { processes }: Pick<ProcessContext, "processes">,
): Promise<SettingsStore> {
  const { SettingsStore } = await import("../store/settings-store.ts");
  return new SettingsStore(folder, processes);
}

/** Converts options to overrides of settings. @param getLabel returns an option's name in messages */
export function settingFlags(
  values: { readonly [Name in SettingName]?: unknown },
  getLabel: (name: string) => string,
): SettingFlags {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return [];
    // Several values are joined as a JSON list, because a text can contain any separator.
    const text = Array.isArray(value) ? JSON.stringify(value) : String(value);
    return [[name, { value: text, label: getLabel(name) }] as const];
  });
  return Object.fromEntries(entries);
}

export function generatorSettings(flags: FlagsOf<typeof GENERATOR>): SettingFlags {
  const rows: Options = GENERATOR;
  const values = Object.entries(flags).filter(([name]) => name in rows);
  return settingFlags(Object.fromEntries(values), (name) => (rows[name] ? longFlag(rows[name]) : name));
}

export interface SettingRow {
  name: SettingName;
  variable: string | undefined;
  help: string;
  default: string | undefined;
  /** Whether the setting belongs to one generator, so that the setting is removed when another generator is set. */
  isOfGenerator: boolean;
}

export const SETTING_LIST: readonly SettingRow[] = SETTING_NAMES.map((name) => {
  const { variable, help, default: defaultValue } = SETTINGS[name];
  return { name, variable, help, default: defaultValue, isOfGenerator: isGeneratorSetting(name) };
});

export function getSettingRow(name: SettingName): SettingRow {
  return SETTING_LIST.find((row) => row.name === name) as SettingRow;
}
