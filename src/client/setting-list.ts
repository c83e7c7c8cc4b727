import { isOfGenerator, SETTING_NAMES, SETTINGS, type SettingName } from "../store/settings-table.ts";

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
  return { name, variable, help, default: byDefault, isOfGenerator: isOfGenerator(name) };
});

/** The row of a setting. */
export function settingRow(name: SettingName): SettingRow {
  return SETTING_LIST.find((row) => row.name === name) as SettingRow;
}
