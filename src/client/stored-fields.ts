import { seedOption } from "../lib/whole-number.ts";
import { jsonFields, providerFields } from "../models/provider-fields.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { SettingName } from "../store/settings-table.ts";
import type { OwnFields } from "../task/request.ts";
import type { ProviderFields } from "../task/request-fields.ts";
import type { Effective, EffectiveSettings } from "./effective-settings.ts";

/** Finds a setting in one source. */
type Find = (name: SettingName) => Effective | undefined;

/** The values of config.json for fields that a request to the target in effect leaves open. @throws UsageError, SettingsError */
export function savedFields(settings: Pick<EffectiveSettings, "stored" | "generator">): SavedFields {
  const [ratio, quality] = [settings.stored("ratio")?.value, settings.stored("quality")?.value];
  const saved = { ...(ratio !== undefined && { ratio }), ...(quality !== undefined && { quality }) };
  // The others are for the generator that the config names: its terms have them.
  const isOfGenerator = settings.generator() !== undefined || settings.stored("generator") !== undefined;
  return isOfGenerator ? saved : { ...saved, ...storedOwnFields((name) => settings.stored(name)) };
}

/** The seed, negative prompt and fields of a generator. @throws UsageError */
export function storedOwnFields(find: Find): OwnFields {
  const [seed, negative] = [find("seed"), find("negative")];
  return {
    ...(seed && { seed: seedOption(seed.label, seed.value) }),
    ...(negative && { negative: negative.value }),
    fields: fieldSettings(find),
  };
}

/** The settings `field` and `fieldJson`. @throws UsageError */
export function fieldSettings(find: Find): ProviderFields {
  const [plain, json] = [find("field"), find("fieldJson")];
  return {
    ...(plain && providerFields(plain.label, plain.value)),
    ...(json && jsonFields(json.label, json.value)),
  };
}
