import path from "node:path";
import { UsageError } from "../lib/error-types.ts";
import { requirePath } from "../lib/home-folder.ts";
import { isServerKey } from "../lib/redact.ts";
import { wholeNumberOption } from "../lib/whole-number.ts";
import { action, option, phrase } from "../lib/wording.ts";
import { isUserSetting, readSettings, type Settings, settingsFile } from "../store/settings-file.ts";
import type { SettingsStore } from "../store/settings-store.ts";
import { isGeneratorSetting, SETTING_NAMES, SETTINGS, type SettingName } from "../store/settings-table.ts";
import { SettingsError } from "../store/store-errors.ts";
import { GENERATOR } from "./options/global-options.ts";
import { type FlagsOf, longFlag, type Options } from "./options/option.ts";
import type { Environment, ProcessContext } from "./this-process.ts";

type SettingSource = "flag" | "environment" | "config" | "default";

/** A value and where it came from. `label` names that place in messages. */
export interface Effective {
  value: string;
  source: SettingSource;
  label: string;
}

/** A setting with its value and its origin: `workflow fox.json from config.json`, `--workflow fox.json`. */
export function namedSetting(name: SettingName, { value, source, label }: Effective): string {
  const text = isPath(name) ? path.basename(value) : value;
  return source === "config" ? `${name} ${text} from config.json` : `${label} ${text}`;
}

/** @throws UsageError unless it is `true` or `false` */
export function switchValue(label: string, text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new UsageError(`${label} must be true or false.`);
}

/** Settings that flags of the command line give, by the flag's name. */
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

  /** Reads the config file again when it is next needed, for what outlasts a change of it. */
  forget(): void {
    this.#file = undefined;
  }

  /** The value that applies; undefined if it is not set. @throws SettingsError, UsageError for an empty path */
  get(name: keyof Settings, flag?: { value: string | undefined; label: string }): Effective | undefined {
    if (flag?.value === undefined) return this.#fromFlagOrEnvironment(name) ?? this.stored(name);
    return usable(name, { value: flag.value, source: "flag", label: flag.label });
  }

  /**
   * The user's own generator, where it takes the place of a service: the sandbox goes before it; what a flag names goes
   * before the environment, and that before the config.
   * @throws UsageError where one place names a generator and a base URL, SettingsError
   */
  generator(): Effective | undefined {
    const { field = this.#flags.fieldJson } = this.#flags;
    if (this.#isSandbox && field !== undefined)
      throw new UsageError(`${field.label} is for a generator, and the sandbox has no such fields.`, {
        hint: phrase`Nothing was sent. Leave it out, or ${option("sandbox")}.`,
      });
    if (this.#isSandbox) return undefined;
    const generator = this.#generatorInEffect();
    const [stray] = Object.values(this.#flags);
    if (generator === undefined && stray !== undefined)
      throw new UsageError(`${stray.label} is for a generator, and none is set.`, {
        hint: [phrase`Add ${option("generator")} <spec>.`, phrase`More: ${action("help", "generators")}`],
      });
    return generator;
  }

  /** The config file is read only where neither a flag nor the environment decides. */
  #generatorInEffect(): Effective | undefined {
    const generator = this.#fromFlagOrEnvironment("generator");
    if (generator?.source === "flag") return generator;
    const baseUrl = this.#fromFlagOrEnvironment("baseUrl");
    if (generator !== undefined || baseUrl !== undefined) return requireOnlyOne(generator, baseUrl);
    return requireOnlyOne(this.stored("generator"), this.stored("baseUrl"));
  }

  /** What the config file has of a setting. @throws SettingsError */
  stored(name: keyof Settings): Effective | undefined {
    this.#file ??= this.#read();
    const value = this.#file[name];
    return value === undefined
      ? undefined
      : usable(name, { value, source: "config", label: `${name} from config.json` });
  }

  /** Has a setting's value, for the rest of this run, as if its flag gave it; unless that gives another. */
  prefer(name: SettingName, value: string, label: string): void {
    this.#flags = { [name]: { value, label }, ...this.#flags };
  }

  get flags(): SettingFlags {
    return this.#flags;
  }

  /** What a flag gives of a setting. */
  flag(name: SettingName): Effective | undefined {
    const flag = this.#flags[name];
    return flag && usable(name, { ...flag, source: "flag" });
  }

  /** What a flag or the environment gives of a setting. */
  #fromFlagOrEnvironment(name: keyof Settings): Effective | undefined {
    if (!isUserSetting(name)) return undefined;
    const flag = this.flag(name);
    if (flag !== undefined) return flag;
    const { variable } = SETTINGS[name];
    const fromEnv = variable && this.#env[variable];
    return variable && (fromEnv || (fromEnv === "" && isPath(name)))
      ? usable(name, { value: fromEnv, source: "environment", label: variable })
      : undefined;
  }

  /** Whether something is on: by its flag, else by the config. @throws UsageError if that says neither */
  isOn(name: SettingName, flag = false): boolean {
    if (flag) return true;
    const setting = this.get(name);
    return setting !== undefined && switchValue(setting.label, setting.value);
  }

  /** Above so many credits a batch asks first. Default 100. @throws UsageError if the config holds no number */
  confirmAbove(): number {
    return this.#credits("confirmAbove") ?? Number(SETTINGS.confirmAbove.default);
  }

  /** What a key may spend in a day, in credits; null if there is no limit. @throws UsageError */
  dailyCredits(): number | null {
    return this.#credits("dailyCredits");
  }

  #credits(name: SettingName): number | null {
    const setting = this.get(name);
    return setting ? wholeNumberOption(setting.label, setting.value, { min: 0 }) : null;
  }
}

/** @throws UsageError for an empty path */
function usable(name: keyof Settings, found: Effective): Effective {
  if (isPath(name)) requirePath(found.value, found.label);
  return found;
}

function isPath(name: keyof Settings): boolean {
  return isUserSetting(name) && ["folder", "matrix", "workflow"].includes(SETTINGS[name].type);
}

/**
 * The generator, if one is set.
 * @throws UsageError if a base URL is set in the same place: only the user knows which of the two is to be charged
 */
function requireOnlyOne(
  generator: Effective | undefined,
  baseUrl: Effective | undefined,
): Effective | undefined {
  if (generator === undefined || baseUrl === undefined) return generator;
  const hint =
    generator.source === "environment"
      ? `Nothing was sent. Unset ${generator.label} or ${baseUrl.label}.`
      : phrase`Nothing was sent. Keep one of them: ${action("run", "config unset generator")}, or ${action("run", "config unset baseUrl")}`;
  throw new UsageError(`Both ${generator.label} and ${baseUrl.label} are set.`, { hint });
}

/** The key in effect, if it is one of an `imggen serve`. Damaged settings have none: whatever needs the key reports them. */
export function serverKey(settings: Pick<EffectiveSettings, "get">): Effective | undefined {
  try {
    const key = settings.get("apiKey");
    return key !== undefined && isServerKey(key.value) ? key : undefined;
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}

/** The settings that a config folder holds; none without a file. @throws SettingsError if the file is damaged */
export function storedSettings(configFolder: string): Settings {
  return readSettings(settingsFile(configFolder));
}

/** The stored settings of a config folder, to be changed. Loaded late: most commands only read them. */
export async function openSettingsStore(
  folder: string,
  { processes }: Pick<ProcessContext, "processes">,
): Promise<SettingsStore> {
  const { SettingsStore } = await import("../store/settings-store.ts");
  return new SettingsStore(folder, processes);
}

/** Values of options about a generator as the settings that they override. @param getLabel names an option in messages */
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
  const given = Object.entries(flags).filter(([name]) => name in rows);
  return settingFlags(Object.fromEntries(given), (name) => (rows[name] ? longFlag(rows[name]) : name));
}

/** A setting, as faces list it. */
export interface SettingRow {
  name: SettingName;
  /** The environment variable that overrides it. */
  variable: string | undefined;
  help: string;
  /** As it would be stored; undefined: nothing is set without it. */
  default: string | undefined;
  /** Whether it names a generator, or is for one alone: it must not apply to the next one. */
  isOfGenerator: boolean;
}

/** Every setting, in the order of `imggen config`. */
export const SETTING_LIST: readonly SettingRow[] = SETTING_NAMES.map((name) => {
  const { variable, help, default: byDefault } = SETTINGS[name];
  return { name, variable, help, default: byDefault, isOfGenerator: isGeneratorSetting(name) };
});

export function settingRow(name: SettingName): SettingRow {
  return SETTING_LIST.find((row) => row.name === name) as SettingRow;
}
