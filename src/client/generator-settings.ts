import { AuthRequiredError } from "../api/api-errors.ts";
import { parseTimeoutOption } from "../lib/duration.ts";
import { UsageError } from "../lib/error-types.ts";
import { keyFingerprint } from "../lib/fingerprint.ts";
import { shellWord } from "../lib/shell-word.ts";
import { action, option, type Phrase, phrase } from "../lib/wording.ts";
import { basicOrBearerHeaders, type GeneratorOptions } from "../providers/kind.ts";
import {
  type GeneratorSpec,
  getConcurrency,
  getFieldNames,
  isPaidByDefault,
  isServerKind,
  KINDS,
  kindAtDefaultUrl,
} from "../providers/kinds.ts";
import { canCarryKey, parseGeneratorSpec } from "../providers/spec.ts";
import { SETTINGS, type SettingName } from "../store/settings-table.ts";
import { checkGeneratorKey, checkSecret } from "./account.ts";
import type { ClientSession } from "./client-session.ts";
import { describeSetting, type EffectiveValue } from "./effective-settings.ts";
import { readFieldSettings, readStoredFields } from "./given-values.ts";
import { type PlainSetting, settingValue } from "./setting-parsers.ts";

export interface UserGenerator {
  spec: GeneratorSpec;
  options: GeneratorOptions;
}

export type GeneratorSource = Pick<ClientSession, "settings"> & {
  context: Pick<ClientSession["context"], "env" | "resolvePath">;
  folders: Pick<ClientSession["folders"], "config">;
};

/** Returns the options of a generator that has neither settings nor a key. */
export function defaultOptions(spec: GeneratorSpec): GeneratorOptions {
  return {
    ...DEFAULTS,
    concurrency: getConcurrency(spec).usual,
    fieldNames: getFieldNames(spec),
    isPaid: isPaidByDefault(spec),
    key: null,
  };
}

const DEFAULTS = {
  model: null,
  sidePx: Number(SETTINGS.generatorSide.default),
  sizeForm: null,
  timeoutMs: parseTimeoutOption("", SETTINGS.generatorTimeout.default ?? ""),
  defaults: {},
  savedFields: {},
  headers: {},
} as const;

export function readOptions(spec: GeneratorSpec, source: GeneratorSource): Omit<GeneratorOptions, "key"> {
  const find = createSettingFinder(spec, source);
  const fromSource = (origin: EffectiveValue["source"]) => (name: SettingName) =>
    find(name).find((each) => each.source === origin);
  const { usual, max: maxConcurrency } = getConcurrency(spec);
  const getValue = <Name extends PlainSetting, Fallback>(name: Name, fallback: Fallback) => {
    const [setting] = find(name);
    return setting ? settingValue(name, setting) : fallback;
  };
  return {
    model: getValue("generatorModel", DEFAULTS.model),
    sidePx: getValue("generatorSide", DEFAULTS.sidePx),
    sizeForm: getValue("generatorSize", DEFAULTS.sizeForm),
    concurrency: Math.min(maxConcurrency, getValue("generatorConcurrency", usual)),
    timeoutMs: getValue("generatorTimeout", DEFAULTS.timeoutMs),
    defaults: { fields: readFieldSettings(fromSource("flag")) },
    savedFields: readStoredFields(fromSource("config")),
    fieldNames: getFieldNames(spec),
    headers: readHeaders(find, source),
    isPaid: isPaid(spec, find),
    workflow: workflowSetting(spec, find, source),
  };
}

/** Reads headers from the configured variables. A flag overrides the same header of the config. @throws UsageError */
function readHeaders(find: FindSetting, { context: { env } }: GeneratorSource): Record<string, string> {
  const settings = find("generatorHeader").reverse();
  const entries = settings.flatMap((setting) =>
    Object.entries(settingValue("generatorHeader", setting)).map(([name, variable]) => {
      const value = env[variable];
      if (value === undefined || value === "")
        throw new UsageError(`${setting.label}: the variable ${variable} is not set.`);
      return [name, checkSecret(value, variable)] as const;
    }),
  );
  return Object.fromEntries(entries);
}

/** @throws UsageError for a workflow that a flag or option sets, if the generator does not support workflows */
function workflowSetting(
  spec: GeneratorSpec,
  find: FindSetting,
  { context }: GeneratorSource,
): GeneratorOptions["workflow"] {
  const [setting] = find("workflow");
  if (setting === undefined) return undefined;
  if (spec.kind === "comfyui")
    return { path: context.resolvePath(setting.value), label: describeSetting("workflow", setting) };
  // A workflow of the config is ignored, because tasks of this generator can be finished without one.
  if (setting.source === "config") return undefined;
  throw workflowError(setting.label, phrase`Add ${option("generator")} comfyui:<url>.`);
}

function workflowError(label: string, remedy: Phrase): UsageError {
  return new UsageError(`${label} is for a ComfyUI server.`, {
    hint: ["Nothing was sent.", remedy, phrase`More: ${action("help", "generators")}`],
  });
}

/** A setting of config.json that might make requests invalid. `origin` describes the setting in messages. */
export interface SavedCause {
  setting: (typeof CAUSE_NAMES)[number];
  origin: string;
}

const CAUSE_NAMES = ["workflow", "generatorSize", "generatorModel"] as const;

/** @throws UsageError for a workflow if the generator does not support workflows */
export function savedCauses(spec: GeneratorSpec, source: GeneratorSource): SavedCause[] {
  const find = createSettingFinder(spec, source);
  const causes = CAUSE_NAMES.flatMap((setting) => {
    const [value] = find(setting);
    return value?.source === "config" ? [{ setting, origin: describeSetting(setting, value) }] : [];
  });
  const workflow = causes.find(({ setting }) => setting === "workflow");
  if (workflow === undefined || spec.kind === "comfyui") return causes;
  throw workflowError(workflow.origin, phrase`Remove it: ${action("run", "config unset workflow")}.`);
}

/** Returns the values of a setting that apply to a generator: the flag's value, followed by the config's. */
type FindSetting = (name: SettingName) => EffectiveValue[];

/** Settings that could cost money or disclose a secret if they were used with another generator. */
const GENERATOR_BOUND_SETTINGS: ReadonlySet<SettingName> = new Set([
  "generatorHeader",
  "generatorPaid",
  "generatorFree",
  "price",
]);

/** Whether a setting of the config is used only with the generator of the same config. */
export function needsStoredGenerator(name: SettingName): boolean {
  return GENERATOR_BOUND_SETTINGS.has(name);
}

/**
 * Config settings apply only to the config's generator. If the config has no generator, they apply to every generator,
 * except `GENERATOR_BOUND_SETTINGS`.
 */
function createSettingFinder(spec: GeneratorSpec, { settings }: GeneratorSource): FindSetting {
  const storedGenerator = settings.stored("generator");
  const isStoredGenerator =
    storedGenerator !== undefined &&
    parseGeneratorSpec(storedGenerator.value, storedGenerator.label).name === spec.name;
  return (name) => {
    const isStoredValueValid =
      isStoredGenerator || (storedGenerator === undefined && !needsStoredGenerator(name));
    return [settings.flag(name), isStoredValueValid ? settings.stored(name) : undefined].filter(
      (each) => each !== undefined,
    );
  };
}

function isPaid(spec: GeneratorSpec, find: FindSetting): boolean {
  const cost = readCostSetting(find);
  return cost === null ? isPaidByDefault(spec) : cost === "paid";
}

export function isDeclaredFree(spec: GeneratorSpec, source: GeneratorSource): boolean {
  return readCostSetting(createSettingFinder(spec, source)) === "free";
}

/** Returns the configured price in credits per image, or null. Prices in the matrix override it. @throws UsageError */
export function readPrice(spec: GeneratorSpec, source: GeneratorSource): number | null {
  const [setting] = createSettingFinder(spec, source)("price");
  return setting === undefined ? null : settingValue("price", setting);
}

/** Returns the configured cost, or null. A flag overrides the config's two settings. @throws UsageError */
function readCostSetting(find: FindSetting): "paid" | "free" | null {
  const isOn = (setting: EffectiveValue | undefined) =>
    setting !== undefined && settingValue("generatorPaid", setting);
  for (const source of ["flag", "config"] as const) {
    const [paid, free] = (["generatorPaid", "generatorFree"] as const).map((name) =>
      isOn(find(name).find((each) => each.source === source)),
    );
    if (paid && free) throw new UsageError("A generator is either paid or free: both are set.");
    if (paid || free) return paid ? "paid" : "free";
  }
  return null;
}

/** Returns the key for the generator in effect, or null. @throws UsageError if the key cannot be sent */
export function getEffectiveKey(spec: GeneratorSpec, source: GeneratorSource): string | null {
  const key = source.settings.get("generatorKey");
  if (spec.kind === "command" || key === undefined || key.source === "config")
    return getKeyForOrigin(spec, source);
  return checkGeneratorKey(key.value, key.label, supportsLogin(spec));
}

/** Returns the key from the variable of the generator's kind, or from the config if it was stored for this origin. */
export function getKeyForOrigin(spec: GeneratorSpec, { settings, context }: GeneratorSource): string | null {
  if (spec.kind === "command") return null;
  const variable = kindAtDefaultUrl(spec)?.keyVariables.find((name) => context.env[name]);
  if (variable) return checkSecret(context.env[variable] ?? "", variable);
  const { origin } = new URL(spec.url);
  const storedKey = settings.stored("generatorKey");
  const isForOrigin = storedKey !== undefined && settings.stored("generatorKeyOrigin")?.value === origin;
  return isForOrigin ? checkGeneratorKey(storedKey.value, storedKey.label, supportsLogin(spec)) : null;
}

/** Returns the key in the environment if the task's generator has already received it, otherwise null. */
export function getTaskKey(spec: GeneratorSpec, keyId: string, { settings }: GeneratorSource): string | null {
  const key = settings.get("generatorKey");
  if (spec.kind === "command" || key === undefined || key.source === "config") return null;
  const checked = checkGeneratorKey(key.value, key.label, supportsLogin(spec));
  return keyFingerprint(checked) === keyId ? checked : null;
}

export function supportsLogin({ kind }: Pick<GeneratorSpec, "kind">): boolean {
  return isServerKind(kind) && KINDS[kind].keyHeaders === basicOrBearerHeaders;
}

export function withKey(
  spec: GeneratorSpec,
  options: Omit<GeneratorOptions, "key">,
  key: string | null,
): GeneratorOptions {
  if (spec.kind === "command") return { ...options, key: null };
  const packageVersion = spec.kind === "npm" ? { package: spec.version } : {};
  const isSecret = key !== null || Object.keys(options.headers).length > 0;
  if (isSecret && !canCarryKey(spec))
    throw new UsageError(
      "The generator's key is sent only to https:// addresses and to addresses of this machine.",
      {
        hint: `Nothing was sent. Put https before ${new URL(spec.url).host}, or unset the key: a server that needs no key works over http.`,
      },
    );
  return { ...options, ...packageVersion, key };
}

export function lacksKey({ spec, options: { key, headers } }: UserGenerator): boolean {
  return kindAtDefaultUrl(spec) !== null && key === null && Object.keys(headers).length === 0;
}

/** @throws AuthRequiredError if the generator needs a key and no key is set */
export function requireKey(generator: UserGenerator): void {
  const { spec } = generator;
  const kind = kindAtDefaultUrl(spec);
  if (kind === null || !lacksKey(generator)) return;
  const { title, keyVariables } = kind;
  throw new AuthRequiredError(`No key for ${title} is set.`, {
    hint: phrase`Nothing was sent. Set ${keyVariables.join(" or ")}, or store it: ${action("run", `login --generator ${shellWord(spec.name)}`)}`,
  });
}

/** Environment variable of a key that is sent only to `host` (null: the generator in effect). */
export interface GeneratorKey {
  variable: string;
  kind: string;
  host: string | null;
}

export function generatorKeys(): GeneratorKey[] {
  return Object.entries(KINDS).flatMap(([kind, { url, keyVariables }]) =>
    keyVariables.map((variable) => ({ variable, kind, host: url === null ? null : new URL(url).host })),
  );
}
