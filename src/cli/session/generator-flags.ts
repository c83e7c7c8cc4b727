import type { SettingFlags } from "../../client/effective-settings.ts";
import type { SettingName } from "../../store/settings-table.ts";

/** A flag about the user's own generator, which every command takes that a setting of the same name is for. */
interface GeneratorFlag {
  setting: Extract<SettingName, `generator${string}` | "workflow" | "field" | "fieldJson">;
  short?: string;
  /** Stands for its value in the help; null for a switch. */
  value: string | null;
  help: string;
  isRepeatable?: true;
}

/** The flags in the order of the help. */
export const GENERATOR_FLAGS: readonly GeneratorFlag[] = [
  {
    setting: "generator",
    value: "<spec>",
    help: "use your own generator instead of the service (imggen help generators)",
  },
  { setting: "generatorModel", value: "<model>", help: "the generator's model where --model names none" },
  { setting: "generatorSide", value: "<px>", help: "longest side for 1K or no quality (default: 1024)" },
  {
    setting: "generatorSize",
    value: "<form>",
    help: "how a size is sent: WxH, width,height or aspect_ratio",
  },
  {
    setting: "generatorConcurrency",
    value: "<n>",
    help: "requests at once, over all processes (default: 1)",
  },
  { setting: "generatorTimeout", value: "<duration>", help: "how long one image may take (default: 10m)" },
  {
    setting: "field",
    short: "-f",
    value: "<name=value>",
    help: "a field of every request, such as steps=20; repeat it for several",
    isRepeatable: true,
  },
  {
    setting: "fieldJson",
    value: "<name=json>",
    help: "a field whose value is an object or a list, in JSON; repeat it for several",
    isRepeatable: true,
  },
  {
    setting: "generatorHeader",
    value: "<name=ENV>",
    help: "a header whose value is in a variable; repeat it for several",
    isRepeatable: true,
  },
  {
    setting: "workflow",
    value: "<path>",
    help: "a ComfyUI workflow: a file of Export (API), or a PNG that ComfyUI saved",
  },
  { setting: "generatorPaid", value: null, help: "its images cost money: no request is sent twice" },
  { setting: "generatorFree", value: null, help: "its images cost nothing" },
];

/** `--generator-model` of `generatorModel`. */
export function longFlag(setting: string): string {
  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The values of those flags as the parser has them. */
export type GeneratorOptions = { [Name in GeneratorFlag["setting"]]?: string | string[] | boolean };

/** Those flags as the settings that they take the place of. */
export function generatorSettings(options: GeneratorOptions): SettingFlags {
  const entries = GENERATOR_FLAGS.flatMap(({ setting }) => {
    const value = options[setting];
    if (value === undefined) return [];
    // Several values are a JSON list, which holds any text.
    const text = Array.isArray(value) ? JSON.stringify(value) : String(value);
    return [[setting, { value: text, label: longFlag(setting) }] as const];
  });
  return Object.fromEntries(entries);
}
