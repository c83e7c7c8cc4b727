import { timeoutOption } from "../lib/duration.ts";
import { UsageError } from "../lib/error-types.ts";
import { seedOption } from "../lib/whole-number.ts";
import { action, option, phrase } from "../lib/wording.ts";
import { jsonFields, providerFields } from "../models/provider-fields.ts";
import type { GeneratorOptions } from "../providers/kind.ts";
import { concurrencyOf, fieldNamesOf, type GeneratorSpec, isPaidByDefault } from "../providers/kinds.ts";
import { parseGeneratorSpec } from "../providers/spec.ts";
import { SETTINGS, type SettingName } from "../store/settings-table.ts";
import type { OwnFields } from "../task/request.ts";
import type { ProviderFields } from "../task/request-fields.ts";
import type { ClientSession } from "./client-session.ts";
import { type Effective, switchValue } from "./effective-settings.ts";
import {
  headersOption,
  headerValues,
  pixelsOption,
  placesOption,
  sizeFormOption,
} from "./generator-values.ts";

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

const DEFAULTS = {
  model: null,
  sidePx: Number(SETTINGS.generatorSide.default),
  sizeForm: null,
  timeoutMs: timeoutOption("", SETTINGS.generatorTimeout.default ?? ""),
  defaults: {},
  headers: {},
} as const;

export function optionsOf(spec: GeneratorSpec, source: GeneratorSource): Omit<GeneratorOptions, "key"> {
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
    defaults: ownDefaults(spec, find),
    fieldNames: fieldNamesOf(spec),
    headers: merged("generatorHeader", (label, text) =>
      headerValues(headersOption(label, text), source.context.env, label),
    ),
    isPaid: isPaid(spec, find),
    workflow: workflowOf(spec, find, source),
  };
}

/**
 * Defaults of the generator-only fields. Fields of a flag go before those of the config, also before its seed and negative
 * prompt where they are the same field. @throws UsageError
 */
function ownDefaults(spec: GeneratorSpec, find: Find): OwnFields {
  const [fields, json] = [find("field"), find("fieldJson")];
  const of = (source: Effective["source"]) => ({
    ...fieldsFrom(fields, source, providerFields),
    ...fieldsFrom(json, source, jsonFields),
  });
  const flagged = of("flag");
  const names = fieldNamesOf(spec);
  const setting = (name: "seed" | "negative") =>
    Object.hasOwn(flagged, names[name] ?? "") ? undefined : find(name)[0];
  const [seed, negative] = [setting("seed"), setting("negative")];
  return {
    ...(seed && { seed: seedOption(seed.label, seed.value) }),
    ...(negative && { negative: negative.value }),
    fields: { ...of("config"), ...flagged },
  };
}

function fieldsFrom(
  found: readonly Effective[],
  source: Effective["source"],
  parse: (label: string, text: string) => ProviderFields,
): ProviderFields {
  const setting = found.find((each) => each.source === source);
  return setting === undefined ? {} : parse(setting.label, setting.value);
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
    hint: [
      "Nothing was sent.",
      phrase`Add ${option("generator")} comfyui:<url>.`,
      phrase`More: ${action("help", "generators")}`,
    ],
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

/** Whether images are paid for. @throws UsageError */
function isPaid(spec: GeneratorSpec, find: Find): boolean {
  const said = saidOfCost(find);
  return said === null ? isPaidByDefault(spec) : said === "paid";
}

/** Whether a flag or a setting says that images are free. @throws UsageError */
export function isSaidFree(spec: GeneratorSpec, source: GeneratorSource): boolean {
  return saidOfCost(finder(spec, source)) === "free";
}

/** What is set about the cost of images. A flag goes before the config, whichever of the two it is. @throws UsageError */
function saidOfCost(find: Find): "paid" | "free" | null {
  const isOn = (setting: Effective | undefined) =>
    setting !== undefined && switchValue(setting.label, setting.value) === "true";
  for (const source of ["flag", "config"] as const) {
    const [paid, free] = (["generatorPaid", "generatorFree"] as const).map((name) =>
      isOn(find(name).find((each) => each.source === source)),
    );
    if (paid && free) throw new UsageError("A generator is either paid or free: both are set.");
    if (paid || free) return paid ? "paid" : "free";
  }
  return null;
}
