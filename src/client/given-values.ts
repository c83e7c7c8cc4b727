import { fixedSchedule } from "../core/polling/fixed-schedules.ts";
import type { WaitSettings } from "../core/polling/wait.ts";
import { parseTimeoutOption } from "../lib/duration.ts";
import { UsageError } from "../lib/error-types.ts";
import { parseSeedOption } from "../lib/whole-number.ts";
import { checkRequest, type GeneratorTerms } from "../models/check-request.ts";
import type { Matrix } from "../models/matrix.ts";
import { jsonFields, providerFields } from "../models/provider-fields.ts";
import { isLocalFile } from "../models/rules/images.ts";
import { FIELD_LABELS, FLAG_LABELS, type Labels } from "../models/rules/rule.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { SettingName } from "../store/settings-table.ts";
import type { CheckedRequest, GeneratorFields, RequestInput } from "../task/request.ts";
import { fieldsFrom, type InputFields, type ProviderFields } from "../task/request-fields.ts";
import { type EffectiveSettings, type EffectiveValue, serverKey } from "./effective-settings.ts";
import type { RequestOptions } from "./options/call-options.ts";

interface Source {
  settings: EffectiveSettings;
}

export interface RequestValues {
  values: Omit<RequestInput, "prompt">;
  /** Defaults from config.json for fields that `values` does not contain. */
  savedFields: SavedFields;
  labels: Partial<Labels>;
}

type RequestFlags = Omit<InputFields, "prompt" | "fields">;

/** Reads request values from flags, environment and config. @throws UsageError */
export function readRequestFlags(flags: RequestFlags, { settings }: Source): RequestValues {
  const { model, ...others } = flags;
  const setting = settings.get("model", { value: model, label: FLAG_LABELS.model });
  const savedFields = readSavedFields(settings);
  if (setting === undefined || isServiceDefault(setting, settings))
    return { values: toRequestValues(others), savedFields, labels: {} };
  const values = toRequestValues({ ...others, model: setting.value });
  return { values, savedFields, labels: { model: setting.label } };
}

/** Whether a model setting is for the service, and so ignored by a target that has its own default model. */
function isServiceDefault({ source }: EffectiveValue, settings: EffectiveSettings): boolean {
  if (source === "flag") return false;
  if (settings.generator() !== undefined) return true;
  return source === "config" && serverKey(settings)?.source === "environment";
}

export function toRequestValues(flags: RequestFlags): Omit<RequestInput, "prompt"> {
  const input: InputFields = { ...flags, prompt: undefined, fields: undefined };
  return fieldsFrom<InputFields>((name) => input[name]);
}

export function canUpload(images: readonly string[] | undefined, { settings }: Source): boolean | undefined {
  return images?.some(isLocalFile) ? settings.get("uploadCommand") !== undefined : undefined;
}

interface WaitOptions {
  timeoutMs?: number | undefined;
  pollIntervalMs?: number | undefined;
}

export function toWaitSettings({ timeoutMs, pollIntervalMs }: WaitOptions): WaitSettings {
  const schedule = pollIntervalMs === undefined ? null : fixedSchedule(pollIntervalMs);
  return { timeoutMs: timeoutMs ?? null, schedule };
}

/** @throws UsageError for an invalid setting `timeout` */
export function waitSettings(flags: WaitOptions, { settings }: Source): WaitSettings {
  const wait = toWaitSettings(flags);
  if (wait.timeoutMs !== null) return wait;
  const timeout = settings.get("timeout");
  return timeout ? { ...wait, timeoutMs: parseTimeoutOption(timeout.label, timeout.value) } : wait;
}

/** @throws UsageError for an invalid setting */
export function outputSettings(
  flags: WaitOptions & { output?: string | undefined; sidecar?: boolean | undefined },
  { settings }: Source,
) {
  const output = settings.get("output", { value: flags.output, label: "--output" });
  const sidecar = settings.isOn("sidecar", flags.sidecar);
  return {
    output: output?.value,
    outputLabel: output?.label,
    sidecar,
    wait: waitSettings(flags, { settings }),
  };
}

export function toRequestInput(options: RequestOptions): RequestInput {
  const image = options.image === undefined ? undefined : [options.image].flat();
  const fields = { ...options, image };
  return { ...fieldsFrom<InputFields>((name) => fields[name]), prompt: options.prompt };
}

/** @throws UsageError if there is no prompt, InvalidRequestError for the first broken rule */
export function checkCallRequest(
  options: RequestOptions,
  matrix: Matrix,
  generator: GeneratorTerms | null,
  savedFields: SavedFields | undefined,
): CheckedRequest {
  if (options.prompt === undefined) throw new UsageError("There is no prompt.");
  const validate = options.validate !== false;
  return checkRequest(toRequestInput(options), matrix, {
    validate,
    labels: FIELD_LABELS,
    generator,
    ...(savedFields && { savedFields }),
  });
}

type FindSetting = (name: SettingName) => EffectiveValue | undefined;

/** Reads the defaults from config.json for the target in effect. @throws UsageError, SettingsError */
export function readSavedFields(settings: Pick<EffectiveSettings, "stored" | "generator">): SavedFields {
  const [ratio, quality] = [settings.stored("ratio")?.value, settings.stored("quality")?.value];
  const defaults = { ...(ratio !== undefined && { ratio }), ...(quality !== undefined && { quality }) };
  // If a generator is set, its terms contain the other saved fields.
  const hasGenerator = settings.generator() !== undefined || settings.stored("generator") !== undefined;
  return hasGenerator ? defaults : { ...defaults, ...readStoredFields((name) => settings.stored(name)) };
}

/** @throws UsageError */
export function readStoredFields(find: FindSetting): GeneratorFields {
  const [seed, negative] = [find("seed"), find("negative")];
  return {
    ...(seed && { seed: parseSeedOption(seed.label, seed.value) }),
    ...(negative && { negative: negative.value }),
    fields: readFieldSettings(find),
  };
}

/** Reads the settings `field` and `fieldJson`. @throws UsageError */
export function readFieldSettings(find: FindSetting): ProviderFields {
  const [fieldSetting, jsonSetting] = [find("field"), find("fieldJson")];
  return {
    ...(fieldSetting && providerFields(fieldSetting.label, fieldSetting.value)),
    ...(jsonSetting && jsonFields(jsonSetting.label, jsonSetting.value)),
  };
}
