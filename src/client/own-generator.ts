import { AuthRequiredError } from "../api/api-errors.ts";
import { timeoutOption } from "../lib/duration.ts";
import { UsageError } from "../lib/error-types.ts";
import { shellWord } from "../lib/shell-word.ts";
import { wholeNumberOption } from "../lib/whole-number.ts";
import { providerFields } from "../models/provider-fields.ts";
import type { GeneratorOptions } from "../providers/generator-options.ts";
import {
  concurrencyOf,
  fieldNamesOf,
  type GeneratorSpec,
  isPaidByDefault,
  kindAtHome,
} from "../providers/kinds.ts";
import { installedPackage } from "../providers/package/load.ts";
import { mayCarryKey, parseGeneratorSpec } from "../providers/spec.ts";
import { SETTINGS, type SettingName } from "../store/settings-table.ts";
import type { ClientSession } from "./client-session.ts";
import { type Effective, EffectiveSettings, type SettingFlags, switchValue } from "./effective-settings.ts";
import {
  checkGeneratorKey,
  checkSecret,
  headersOption,
  headerValues,
  pixelsOption,
  placesOption,
  sizeFormOption,
} from "./generator-values.ts";

// Loaded only where there is a generator.

/** The user's own generator, and how it is used. */
export interface OwnGenerator {
  spec: GeneratorSpec;
  options: GeneratorOptions;
}

/** What a generator is read from. */
export type GeneratorSource = Pick<ClientSession, "settings"> & {
  context: Pick<ClientSession["context"], "env" | "resolvePath">;
  /** Where packages that make images are installed. */
  folders: Pick<ClientSession["folders"], "config">;
};

/** The generator that a setting names, with all that is set about it. @throws UsageError, AuthRequiredError without a key */
export function ownGenerator(setting: Effective, source: GeneratorSource): OwnGenerator {
  const spec = knownSpec(setting.value, setting.label, source);
  const key = keyInEffect(spec, source);
  return { spec, options: withKey(spec, optionsOf(spec, source), key) };
}

/**
 * The generator of a stored task: the generator in effect, with its settings, or another one without settings. Invalid
 * settings count as none. @throws UsageError, as `ownGenerator`
 */
export function generatorOf(name: string, source: GeneratorSource): OwnGenerator {
  const setting = orNull(() => source.settings.generator()) ?? null;
  const inEffect = setting && orNull(() => knownSpec(setting.value, setting.label, source));
  return setting && inEffect?.name === name ? ownGenerator(setting, source) : generatorNamed(name, source);
}

/** The value; null where it is invalid, because an invalid setting is not meant for a stored task. */
function orNull<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** Checks the flags about a generator, also where no task uses it. @throws UsageError */
export function checkGeneratorFlags(flags: SettingFlags, source: GeneratorSource): void {
  const settings = new EffectiveSettings({}, () => ({}), flags);
  const setting = settings.flag("generator") ?? source.settings.generator();
  if (setting === undefined) return;
  const read = () => knownSpec(setting.value, setting.label, source);
  const spec = setting.source === "flag" ? read() : orNull(read);
  if (spec !== null) optionsOf(spec, { ...source, settings });
}

/** A generator that is not the one in effect: no setting applies to it. */
export function generatorNamed(name: string, source: GeneratorSource): OwnGenerator {
  const spec = knownSpec(name, "The task's generator", source);
  return { spec, options: withKey(spec, unsetOptions(spec), boundKey(spec, source)) };
}

/** The options of a generator without any settings, and without a key. */
export function unsetOptions(spec: GeneratorSpec): GeneratorOptions {
  return {
    ...DEFAULTS,
    concurrency: concurrencyOf(spec).usual,
    fieldNames: fieldNamesOf(spec),
    isPaid: isPaidByDefault(spec),
    key: null,
  };
}

/** A generator as it is written, with all that is known of it. @throws UsageError for a package that is not installed */
export function knownSpec(
  text: string,
  label: string,
  source: Pick<GeneratorSource, "folders">,
): GeneratorSpec {
  const spec = parseGeneratorSpec(text, label);
  return spec.kind === "npm" ? installedPackage(spec, source.folders.config) : spec;
}

const DEFAULTS = {
  model: null,
  sidePx: Number(SETTINGS.generatorSide.default),
  sizeForm: null,
  timeoutMs: timeoutOption("", SETTINGS.generatorTimeout.default ?? ""),
  defaults: {},
  headers: {},
} as const;

function optionsOf(spec: GeneratorSpec, source: GeneratorSource): Omit<GeneratorOptions, "key"> {
  const find = finder(spec, source);
  const read = <Value>(name: SettingName, parse: (label: string, text: string) => Value, fallback: Value) => {
    const [found] = find(name);
    return found === undefined ? fallback : parse(found.label, found.value);
  };
  const merged = <Value>(
    name: SettingName,
    parse: (label: string, text: string) => Readonly<Record<string, Value>>,
  ) =>
    Object.assign(
      {},
      ...find(name)
        .reverse()
        .map(({ label, value }) => parse(label, value)),
    );
  const { usual, most } = concurrencyOf(spec);
  return {
    model: read("generatorModel", (_label, text) => text, DEFAULTS.model),
    sidePx: read("generatorSide", pixelsOption, DEFAULTS.sidePx),
    sizeForm: read<GeneratorOptions["sizeForm"]>("generatorSize", sizeFormOption, DEFAULTS.sizeForm),
    concurrency: Math.min(most, read("generatorConcurrency", placesOption, usual)),
    timeoutMs: read("generatorTimeout", timeoutOption, DEFAULTS.timeoutMs),
    defaults: {
      seed: read<number | undefined>(
        "seed",
        (label, text) => wholeNumberOption(label, text, { min: 0 }),
        undefined,
      ),
      negative: read<string | undefined>("negative", (_label, text) => text, undefined),
      fields: merged("field", providerFields),
    },
    fieldNames: fieldNamesOf(spec),
    headers: merged("generatorHeader", (label, text) =>
      headerValues(headersOption(label, text), source.context.env, label),
    ),
    isPaid: isPaid(spec, find),
    workflow: workflowOf(spec, find, source),
  };
}

/** The file with the workflow of new requests; undefined for none. @throws UsageError for a generator that takes none */
function workflowOf(
  spec: GeneratorSpec,
  find: Find,
  { context }: GeneratorSource,
): GeneratorOptions["workflow"] {
  const [found] = find("workflow");
  if (found === undefined) return undefined;
  if (spec.kind === "comfyui") return { path: context.resolvePath(found.value), label: found.label };
  if (found.source === "config") return undefined;
  throw new UsageError(`${found.label} is for a ComfyUI server.`, {
    hint: "Nothing was sent. Add --generator comfyui:<url>. More: imggen help generators",
  });
}

/** The values of a setting that apply to a generator, the flag's first. */
type Find = (name: SettingName) => Effective[];

/** Settings that could cost money, or disclose a secret, at another generator. */
const OF_ITS_OWN: ReadonlySet<SettingName> = new Set(["generatorHeader", "generatorPaid", "generatorFree"]);

/** Settings of the config apply to the generator that the config names; if it names none, to any. */
function finder(spec: GeneratorSpec, { settings }: GeneratorSource): Find {
  const stored = settings.stored("generator");
  const isOwn = stored !== undefined && parseGeneratorSpec(stored.value, stored.label).name === spec.name;
  return (name) => {
    const isMeant = isOwn || (stored === undefined && !OF_ITS_OWN.has(name));
    return [settings.flag(name), isMeant ? settings.stored(name) : undefined].filter(
      (each) => each !== undefined,
    );
  };
}

/** Whether images are paid for. A flag goes before the config, whichever of the two it is. @throws UsageError */
function isPaid(spec: GeneratorSpec, find: Find): boolean {
  const isOn = (setting: Effective | undefined) =>
    setting !== undefined && switchValue(setting.label, setting.value) === "true";
  for (const source of ["flag", "config"] as const) {
    const [paid, free] = (["generatorPaid", "generatorFree"] as const).map((name) =>
      isOn(find(name).find((each) => each.source === source)),
    );
    if (paid && free) throw new UsageError("A generator is either paid or free: both are set.");
    if (paid || free) return paid === true;
  }
  return isPaidByDefault(spec);
}

/** The key for the generator in effect; null for none. @throws UsageError for one that cannot be sent */
function keyInEffect(spec: GeneratorSpec, source: GeneratorSource): string | null {
  const key = source.settings.get("generatorKey");
  if (spec.kind === "command" || key === undefined || key.source === "config") return boundKey(spec, source);
  return checkGeneratorKey(key.value, key.label, spec.kind);
}

/** A key that is for one origin alone: the one in its kind's own variable, or the one that was stored. */
function boundKey(spec: GeneratorSpec, { settings, context }: GeneratorSource): string | null {
  if (spec.kind === "command") return null;
  const variable = kindAtHome(spec)?.keyVariables.find((name) => context.env[name]);
  if (variable) return checkSecret(context.env[variable] ?? "", variable);
  const { origin } = new URL(spec.url);
  const stored = settings.stored("generatorKey");
  const isMeant = stored !== undefined && settings.stored("generatorKeyOrigin")?.value === origin;
  return isMeant ? checkGeneratorKey(stored.value, stored.label, spec.kind) : null;
}

function withKey(
  spec: GeneratorSpec,
  options: Omit<GeneratorOptions, "key">,
  key: string | null,
): GeneratorOptions {
  if (spec.kind === "command") return { ...options, key: null };
  const made = spec.kind === "npm" ? { package: spec.version } : {};
  const isSecret = key !== null || Object.keys(options.headers).length > 0;
  if (isSecret && !mayCarryKey(spec))
    throw new UsageError("The generator's key is only sent to https:// addresses, and within this machine.", {
      hint: `Nothing was sent. Put https before ${new URL(spec.url).host}, or unset the key: a server that needs none works over http.`,
    });
  return { ...options, ...made, key };
}

/** Whether the generator refuses every request because no key is set. */
export function lacksKey({ spec, options: { key, headers } }: OwnGenerator): boolean {
  return kindAtHome(spec) !== null && key === null && Object.keys(headers).length === 0;
}

/** @throws AuthRequiredError where it lacks a key */
export function requireKey(generator: OwnGenerator): void {
  const { spec } = generator;
  const kind = kindAtHome(spec);
  if (kind === null || !lacksKey(generator)) return;
  const { title, keyVariables } = kind;
  throw new AuthRequiredError(`No key for ${title} is set.`, {
    hint: `Nothing was sent. Set ${keyVariables.join(" or ")}, or store it: imggen login --generator ${shellWord(spec.name)}`,
  });
}
