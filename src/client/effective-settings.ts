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

/** A setting's value and its origin, which messages name by `label`. */
export interface EffectiveValue {
  value: string;
  source: SettingSource;
  label: string;
}

/** A setting with its value and its origin: `workflow fox.json from config.json`, `--workflow fox.json`. */
export function describeSetting(name: SettingName, { value, source, label }: EffectiveValue): string {
  const text = isPath(name) ? path.basename(value) : value;
  return source === "config" ? `${name} ${text} from config.json` : `${label} ${text}`;
}

/** @throws UsageError unless it is `true` or `false` */
export function parseSwitch(label: string, text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new UsageError(`${label} must be true or false.`);
}

/** Settings from flags of the command line, by the setting's name. */
export type SettingFlags = { readonly [Name in SettingName]?: { value: string; label: string } };

/** Settings as they apply: flag over environment over config file. The file is read once, when it is needed. */
export class EffectiveSettings {
  readonly #env: Environment;
  readonly #read: () => Settings;
  #flags: SettingFlags;
  readonly #isSandbox: boolean;
  #file: Settings | undefined;

  /**
   * @param read reads the config file @throws SettingsError
   * @param flags those that every command takes
   * @param isSandbox whether the embedded sandbox takes the place of every service and generator
   */
  constructor(env: Environment, read: () => Settings, flags: SettingFlags = {}, isSandbox = false) {
    this.#env = env;
    this.#read = read;
    this.#flags = flags;
    this.#isSandbox = isSandbox;
  }

  /** Discards the values of the config file, so that a long-lived client sees a change of it. */
  forget(): void {
    this.#file = undefined;
  }

  /** The value that applies; undefined if it is not set. @throws SettingsError, UsageError for an empty path */
  get(name: keyof Settings, flag?: { value: string | undefined; label: string }): EffectiveValue | undefined {
    if (flag?.value === undefined) return this.#fromFlagOrEnvironment(name) ?? this.stored(name);
    return requireValidPath(name, { value: flag.value, source: "flag", label: flag.label });
  }

  /**
   * The user's own generator, if new requests go to one. The sandbox overrides it; a flag overrides the environment, and that
   * the config.
   * @throws UsageError if one source names both a generator and a base URL, SettingsError
   */
  generator(): EffectiveValue | undefined {
    const { field = this.#flags.fieldJson } = this.#flags;
    if (this.#isSandbox && field !== undefined)
      throw new UsageError(`${field.label} is for a generator, and the sandbox has no such fields.`, {
        hint: phrase`Nothing was sent. Leave it out, or ${option("sandbox")}.`,
      });
    if (this.#isSandbox) return undefined;
    const generator = this.#generatorInEffect();
    const [strayFlag] = Object.values(this.#flags);
    if (generator === undefined && strayFlag !== undefined)
      throw new UsageError(`${strayFlag.label} is for a generator, and none is set.`, {
        hint: [phrase`Add ${option("generator")} <spec>.`, phrase`More: ${action("help", "generators")}`],
      });
    return generator;
  }

  /** Reads the config file only if neither a flag nor the environment decides. */
  #generatorInEffect(): EffectiveValue | undefined {
    const generator = this.#fromFlagOrEnvironment("generator");
    if (generator?.source === "flag") return generator;
    const baseUrl = this.#fromFlagOrEnvironment("baseUrl");
    if (generator !== undefined || baseUrl !== undefined) return requireSingleTarget(generator, baseUrl);
    return requireSingleTarget(this.stored("generator"), this.stored("baseUrl"));
  }

  /** Value in the config file. @throws SettingsError */
  stored(name: keyof Settings): EffectiveValue | undefined {
    this.#file ??= this.#read();
    const value = this.#file[name];
    return value === undefined
      ? undefined
      : requireValidPath(name, { value, source: "config", label: `${name} from config.json` });
  }

  /** Sets a value for the rest of this run, as a flag does; a real flag overrides it. */
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

  /** Whether a switch is on, by its flag or else its setting. @throws UsageError unless the setting is true or false */
  isOn(name: SettingName, flag = false): boolean {
    if (flag) return true;
    const setting = this.get(name);
    return setting !== undefined && parseSwitch(setting.label, setting.value);
  }

  /** Cost above which a batch needs confirmation, in credits. Default 100. @throws UsageError unless the setting is a number */
  confirmAbove(): number {
    return this.#credits("confirmAbove") ?? Number(SETTINGS.confirmAbove.default);
  }

  /** Maximum cost per key and day, in credits; null for no limit. @throws UsageError */
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
 * The generator, if one is set.
 * @throws UsageError if the same source sets a base URL: only the user knows which of the two may charge
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

/** The key in effect, if it is one of an `imggen serve`. None for damaged settings: the reader of the key reports those. */
export function serverKey(settings: Pick<EffectiveSettings, "get">): EffectiveValue | undefined {
  try {
    const key = settings.get("apiKey");
    return key !== undefined && isServerKey(key.value) ? key : undefined;
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}

/** Settings of a config folder; empty without a file. @throws SettingsError if the file is damaged */
export function storedSettings(configFolder: string): Settings {
  return readSettings(settingsFile(configFolder));
}

/** Store to change settings. Loaded late: most commands only read them. */
export async function openSettingsStore(
  folder: string,
  { processes }: Pick<ProcessContext, "processes">,
): Promise<SettingsStore> {
  const { SettingsStore } = await import("../store/settings-store.ts");
  return new SettingsStore(folder, processes);
}

/** Options about a generator as overrides of its settings. @param getLabel names an option in messages */
export function settingFlags(
  values: { readonly [Name in SettingName]?: unknown },
  getLabel: (name: string) => string,
): SettingFlags {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return [];
    // Several values are a JSON list, which holds any text.
    const text = Array.isArray(value) ? JSON.stringify(value) : String(value);
    return [[name, { value: text, label: getLabel(name) }] as const];
  });
  return Object.fromEntries(entries);
}

/** The flags about a generator as the settings that they override. */
export function generatorSettings(flags: FlagsOf<typeof GENERATOR>): SettingFlags {
  const rows: Options = GENERATOR;
  const values = Object.entries(flags).filter(([name]) => name in rows);
  return settingFlags(Object.fromEntries(values), (name) => (rows[name] ? longFlag(rows[name]) : name));
}

export interface SettingRow {
  name: SettingName;
  /** The environment variable that overrides it. */
  variable: string | undefined;
  help: string;
  /** In its stored form; undefined for none. */
  default: string | undefined;
  /** Whether it belongs to one generator, and is removed when another one is set. */
  isOfGenerator: boolean;
}

/** Every setting, in the order of `imggen config`. */
export const SETTING_LIST: readonly SettingRow[] = SETTING_NAMES.map((name) => {
  const { variable, help, default: defaultValue } = SETTINGS[name];
  return { name, variable, help, default: defaultValue, isOfGenerator: isGeneratorSetting(name) };
});

export function getSettingRow(name: SettingName): SettingRow {
  return SETTING_LIST.find((row) => row.name === name) as SettingRow;
}
