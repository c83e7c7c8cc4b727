import { UsageError } from "../lib/error-types.ts";
import { parseGeneratorSpec } from "../providers/spec.ts";
import type { Settings } from "../store/settings-file.ts";
import { SettingsError } from "../store/store-errors.ts";
import { normalizeBaseUrl } from "./account.ts";
import { storedSettings } from "./effective-settings.ts";
import { profileFolder, profileNames } from "./profiles.ts";

export function profilesByService(configFolder: string): (service: string) => string | null {
  const names = profileNames(configFolder).sort();
  const services = new Map(
    names.map((name) => [name, readServiceName(profileFolder(configFolder, name, "The profile"))] as const),
  );
  return (service) => names.find((name) => services.get(name) === normalizeBaseUrl(service)) ?? null;
}

/** Returns the profile's service or generator, or null if none is set or the settings cannot be read. */
function readServiceName(folder: string): string | null {
  try {
    return getServiceName(storedSettings(folder));
  } catch (error) {
    if (error instanceof SettingsError || error instanceof UsageError) return null;
    throw error;
  }
}

function getServiceName({ generator, baseUrl }: Settings): string | null {
  if (generator !== undefined) return normalizeBaseUrl(parseGeneratorSpec(generator, "generator").name);
  return baseUrl === undefined ? null : normalizeBaseUrl(baseUrl);
}
