import { parseUploadCommand } from "../core/references/upload-command.ts";
import { timeoutOption } from "../lib/duration.ts";
import { UsageError } from "../lib/error-types.ts";
import { seedOption, wholeNumberOption } from "../lib/whole-number.ts";
import type { Wording } from "../lib/wording.ts";
import { resolveModel } from "../models/find.ts";
import { canonicalQuality, type Matrix } from "../models/matrix.ts";
import { jsonFields, providerFields } from "../models/provider-fields.ts";
import { unknownModel } from "../models/rules/model.ts";
import { unknownQuality } from "../models/rules/quality.ts";
import { malformedRatio, unknownRatio } from "../models/rules/ratio.ts";
import type { Refusal } from "../models/rules/rule.ts";
import { SETTINGS, type SettingName, type SettingType } from "../store/settings-table.ts";
import { checkApiKey, checkBaseUrl } from "./account.ts";
import { type EffectiveSettings, switchValue } from "./effective-settings.ts";
import {
  checkGeneratorKey,
  headersOption,
  pixelsOption,
  placesOption,
  sizeFormOption,
} from "./generator-values.ts";
import type { ProcessContext } from "./this-process.ts";

/** What checks depend on. */
interface CheckedBy {
  matrix(): Promise<Matrix>;
  settings: Pick<EffectiveSettings, "generator">;
  context: Pick<ProcessContext, "resolvePath">;
}

/** @returns the value as it is stored @throws UsageError */
type Check = (value: string, name: SettingName, by: CheckedBy) => string | Promise<string>;

/** A check that only refuses: the value is stored as it was given. */
const asGiven =
  (check: (label: string, value: string) => unknown): Check =>
  (value, name) => {
    check(name, value);
    return value;
  };

const CHECKS: Readonly<Record<SettingType, Check>> = {
  key: checkApiKey,
  baseUrl: checkBaseUrl,
  // Loaded late: few have a generator of their own.
  generator: async (value, name) => {
    const { parseGeneratorSpec, storedSpec } = await import("../providers/spec.ts");
    return storedSpec(parseGeneratorSpec(value, name));
  },
  generatorKey: (value, name) => checkGeneratorKey(value, name, null),
  text: notBlank,
  seed: (value, name) => String(seedOption(name, value)),
  pixels: asGiven(pixelsOption),
  places: asGiven(placesOption),
  sizeForm: (value, name) => sizeFormOption(name, value),
  fields: asGiven(providerFields),
  jsonFields: asGiven(jsonFields),
  headers: asGiven(headersOption),
  // As for a matrix: a relative path would lead elsewhere.
  workflow: async (value, name, { context }) => {
    const file = context.resolvePath(notBlank(value, name));
    const { readWorkflow } = await import("../providers/comfyui/workflow-file.ts");
    readWorkflow(file, name);
    return file;
  },
  model: async (value, name, by) => {
    // A generator may have any, and any ratio is its own to refuse.
    if (by.settings.generator() !== undefined) return notBlank(value, name);
    const matrix = await by.matrix();
    refuse(unknownModel(value, name, matrix), "To see all models: imggen models");
    return resolveModel(value, matrix)?.id ?? value;
  },
  ratio: async (value, name, by) => {
    if (by.settings.generator() !== undefined) refuse(malformedRatio(value, name));
    else
      refuse(unknownRatio(value, name, await by.matrix()), "Ratios that models take: imggen models <model>");
    return value;
  },
  quality: (value, name) => {
    refuse(unknownQuality(value, name));
    return canonicalQuality(value) ?? value;
  },
  folder: notBlank,
  duration: asGiven(timeoutOption),
  switch: (value, name) => switchValue(name, value),
  command: (value, name) => parseUploadCommand(value, name).text,
  credits: (value, name) => String(wholeNumberOption(name, value, { min: 0 })),
  // Commands are run in other folders, so a relative path would lead elsewhere.
  matrix: async (value, name, { context }) => {
    const file = context.resolvePath(notBlank(value, name));
    const { readMatrix } = await import("../models/matrix-file/read-matrix.ts");
    readMatrix(file, "Nothing was stored. File format: imggen help json");
    return file;
  },
};

/** @returns a setting's value as it is stored @throws UsageError for one that no command takes */
export async function checkSetting(name: SettingName, value: string, by: CheckedBy): Promise<string> {
  return CHECKS[SETTINGS[name].type](value, name, by);
}

/** @throws UsageError if there is a refusal */
function refuse(refusal: Refusal | null, hint: Wording | undefined = refusal?.hint): void {
  if (refusal) throw new UsageError(`${refusal.message}.`, { hint });
}

function notBlank(value: string, name: SettingName): string {
  if (value.trim() === "")
    throw new UsageError(`${name} is empty.`, { hint: `To remove it: imggen config unset ${name}` });
  return value;
}
