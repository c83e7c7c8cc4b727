import { fixedSchedule } from "../core/polling/fixed-schedules.ts";
import type { WaitSettings } from "../core/polling/wait.ts";
import { timeoutOption } from "../lib/duration.ts";
import { isLocalFile } from "../models/rules/images.ts";
import { FLAG_LABELS, type Labels } from "../models/rules/rule.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { RequestInput } from "../task/request.ts";
import { fieldsFrom, type GivenFields } from "../task/request-fields.ts";
import type { Effective, EffectiveSettings, SettingFlags } from "./effective-settings.ts";
import { GENERATOR } from "./options/global-options.ts";
import { type FlagsOf, longFlag, type Option } from "./options/option.ts";
import { savedFields } from "./stored-fields.ts";

interface Source {
  settings: EffectiveSettings;
}

export interface RequestValues {
  values: Omit<RequestInput, "prompt">;
  /** Values of config.json, for what `values` leaves open. */
  saved: SavedFields;
  /** Where each value came from, for messages about it. */
  labels: Partial<Labels>;
}

type RequestFlags = Omit<GivenFields, "prompt" | "fields">;

/** A request's values from flags, environment and config; values that are not set are absent. @throws UsageError */
export function readRequestFlags(flags: RequestFlags, { settings }: Source): RequestValues {
  const { model, ...others } = flags;
  const setting = settings.get("model", { value: model, label: FLAG_LABELS.model });
  const saved = savedFields(settings);
  if (setting === undefined || isOfService(setting, settings))
    return { values: valuesOf(others), saved, labels: {} };
  const values = valuesOf({ ...others, model: setting.value });
  return { values, saved, labels: { model: setting.label } };
}

/** Whether a setting is the service's default model: which one the user's own generator has, its terms say. */
function isOfService({ source }: Effective, settings: EffectiveSettings): boolean {
  return source !== "flag" && settings.generator() !== undefined;
}

/** The values of a request among flags; those that are not set are absent. */
export function valuesOf(flags: RequestFlags): Omit<RequestInput, "prompt"> {
  const given: GivenFields = { ...flags, prompt: undefined, fields: undefined };
  return fieldsFrom<GivenFields>((name) => given[name]);
}

/** Whether files among reference images can be uploaded; undefined if there are none. */
export function canUpload(images: readonly string[] | undefined, { settings }: Source): boolean | undefined {
  return images?.some(isLocalFile) ? settings.get("uploadCommand") !== undefined : undefined;
}

interface WaitOptions {
  timeoutMs?: number | undefined;
  pollIntervalMs?: number | undefined;
}

/** How long to wait, and how often to poll. */
export function waitFrom({ timeoutMs, pollIntervalMs }: WaitOptions): WaitSettings {
  const schedule = pollIntervalMs === undefined ? null : fixedSchedule(pollIntervalMs);
  return { timeoutMs: timeoutMs ?? null, schedule };
}

/** The same with the setting `timeout`. @throws UsageError for the setting `timeout` */
export function waitSettings(flags: WaitOptions, { settings }: Source): WaitSettings {
  const wait = waitFrom(flags);
  if (wait.timeoutMs !== null) return wait;
  const timeout = settings.get("timeout");
  return timeout ? { ...wait, timeoutMs: timeoutOption(timeout.label, timeout.value) } : wait;
}

/** The flags about a generator as the settings that they override. */
export function generatorSettings(flags: FlagsOf<typeof GENERATOR>): SettingFlags {
  const entries = Object.entries<Option>(GENERATOR).flatMap(([name, row]) => {
    const value: unknown = Object.entries(flags).find(([each]) => each === name)?.[1];
    if (value === undefined) return [];
    // Several values are a JSON list, which holds any text.
    const text = Array.isArray(value) ? JSON.stringify(value) : String(value);
    return [[name, { value: text, label: longFlag(row) }] as const];
  });
  return Object.fromEntries(entries);
}
