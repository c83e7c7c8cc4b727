import { parseUploadCommand } from "../core/references/upload-command.ts";
import { parseTimeoutOption } from "../lib/duration.ts";
import { UsageError } from "../lib/error-types.ts";
import { requirePath } from "../lib/home-folder.ts";
import { parsePairs } from "../lib/pairs.ts";
import { parseSeedOption, parseWholeNumberOption } from "../lib/whole-number.ts";
import { action, phrase } from "../lib/wording.ts";
import { resolveModel } from "../models/find.ts";
import { canonicalQuality, type Matrix } from "../models/matrix.ts";
import { jsonFields, providerFields } from "../models/provider-fields.ts";
import { unknownModel } from "../models/rules/model.ts";
import { unknownQuality } from "../models/rules/quality.ts";
import { malformedRatio, unknownRatio } from "../models/rules/ratio.ts";
import { throwRefusal } from "../models/rules/rule.ts";
import { SETTINGS, type SettingName, type SettingType, type TypeOfSetting } from "../store/settings-table.ts";
import { checkApiKey, checkBaseUrl, checkGeneratorKey } from "./account.ts";
import { type EffectiveSettings, type EffectiveValue, parseSwitch, serverKey } from "./effective-settings.ts";
import { SIZE_FORMS } from "./options/global-options.ts";
import { parseChoice } from "./options/option-kinds.ts";
import type { ProcessContext } from "./this-process.ts";

interface ParseDeps {
  matrix(): Promise<Matrix>;
  settings: Pick<EffectiveSettings, "generator" | "get">;
  context: Pick<ProcessContext, "resolvePath">;
}

/** Whether the target is a generator or an `imggen serve`, which can support models and ratios outside the matrix. */
function hasOwnModels({ settings }: ParseDeps): boolean {
  return settings.generator() !== undefined || serverKey(settings) !== undefined;
}

/** Headers that users cannot set, because the HTTP client sets them. */
const HTTP_HEADERS = /^(?:host|content-|transfer-encoding|connection|expect|te|upgrade|trailer)/i;

/** Parses `name=VARIABLE` into variables by header. @throws UsageError */
function parseHeaders(label: string, text: string): Record<string, string> {
  const pairs = parsePairs(label, text, "api-key=AZURE_OPENAI_KEY");
  for (const [name, variable] of pairs) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || HTTP_HEADERS.test(name))
      throw new UsageError(`${label}: ${JSON.stringify(name)} cannot be set as a header.`);
    if (!/^[A-Za-z_]\w*$/.test(variable))
      throw new UsageError(`${label}: after ${name}=, give the name of a variable that contains the value.`, {
        hint: "The value itself is never an argument, because other users can see a program's arguments.",
      });
  }
  return Object.fromEntries(pairs);
}

/** These parsers throw UsageError. `config set` stores the parsed value, but stores objects and durations as typed. */
const PARSERS = {
  key: (label: string, text: string) => checkApiKey(text, label),
  baseUrl: (label: string, text: string) => checkBaseUrl(text, label),
  // Imports the parser on demand, because few users have a generator.
  generator: async (label: string, text: string) => {
    const { parseGeneratorSpec, storedSpec } = await import("../providers/spec.ts");
    return storedSpec(parseGeneratorSpec(text, label));
  },
  generatorKey: (label: string, text: string) => checkGeneratorKey(text, label, true),
  text: requireText,
  seed: parseSeedOption,
  pixels: (label: string, text: string) => parseWholeNumberOption(label, text, { min: 64, max: 8192 }),
  slots: (label: string, text: string) => parseWholeNumberOption(label, text, { min: 1, max: 64 }),
  sizeForm: (label: string, text: string) => parseChoice(text.trim(), label, SIZE_FORMS),
  fields: providerFields,
  jsonFields,
  headers: parseHeaders,
  // The stored path is absolute, because later commands can run in other folders.
  workflow: async (label: string, text: string, { context }: ParseDeps) => {
    const file = context.resolvePath(requireText(label, text));
    const { readWorkflow } = await import("../providers/comfyui/workflow-file.ts");
    readWorkflow(file, label);
    return file;
  },
  model: async (label: string, text: string, deps: ParseDeps) => {
    if (hasOwnModels(deps)) return requireText(label, text);
    const matrix = await deps.matrix();
    throwRefusal(unknownModel(text, label, matrix), "To see all models: imggen models");
    return resolveModel(text, matrix)?.id ?? text;
  },
  ratio: async (label: string, text: string, deps: ParseDeps) => {
    if (hasOwnModels(deps)) throwRefusal(malformedRatio(text, label));
    else
      throwRefusal(
        unknownRatio(text, label, await deps.matrix()),
        "To see the ratios of a model: imggen models <model>",
      );
    return text;
  },
  quality: (label: string, text: string) => {
    throwRefusal(unknownQuality(text, label));
    return canonicalQuality(text) ?? text;
  },
  folder: (label: string, text: string) => requirePath(requireText(label, text), label),
  duration: parseTimeoutOption,
  switch: parseSwitch,
  command: (label: string, text: string) => parseUploadCommand(text, label).text,
  credits: (label: string, text: string) => parseWholeNumberOption(label, text, { min: 0 }),
  // The stored path is absolute, because later commands can run in other folders.
  matrix: async (label: string, text: string, { context }: ParseDeps) => {
    const file = context.resolvePath(requireText(label, text));
    const { readMatrix } = await import("../models/matrix-file/read-matrix.ts");
    readMatrix(file, "Nothing was stored. File format: imggen help matrix");
    return file;
  },
} as const satisfies Record<SettingType, (label: string, text: string, deps: ParseDeps) => unknown>;

export type PlainSetting = {
  [Name in SettingName]: (typeof PARSERS)[TypeOfSetting<Name>] extends (
    label: string,
    text: string,
  ) => unknown
    ? Name
    : never;
}[SettingName];

export function settingValue<Name extends PlainSetting>(
  name: Name,
  { label, value }: Pick<EffectiveValue, "label" | "value">,
): ReturnType<(typeof PARSERS)[TypeOfSetting<Name>]> {
  const parse = PARSERS[SETTINGS[name].type] as (label: string, text: string) => unknown;
  // The cast is needed, because the compiler cannot relate a setting's name to the result of its parser.
  return parse(label, value) as ReturnType<(typeof PARSERS)[TypeOfSetting<Name>]>;
}

/** @returns the value to store @throws UsageError for an invalid value */
export async function checkSetting(
  name: SettingName,
  text: string,
  deps: ParseDeps,
  label: string = name,
): Promise<string> {
  const { type } = SETTINGS[name];
  const value = await PARSERS[type](label, text, deps);
  return typeof value === "object" || type === "duration" ? text : String(value);
}

function requireText(label: string, text: string): string {
  if (text.trim() === "")
    throw new UsageError(`${label} is empty.`, {
      hint: phrase`To remove it: ${action("run", `config unset ${label}`)}`,
    });
  return text;
}
