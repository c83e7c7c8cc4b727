import { AuthRequiredError } from "../api/errors.ts";
import { isLoopbackHost } from "../api/host.ts";
import { UsageError } from "../lib/error-types.ts";
import type { EffectiveSettings } from "./effective-settings.ts";

/** The key as it goes into the Authorization header. @throws UsageError if it cannot be one (section 5) */
export function checkApiKey(key: string, label: string): string {
  if (!key.startsWith("sk-") || key.length === 3) {
    throw new UsageError(`${label} is not an API key: keys begin with "sk-".`);
  }
  if (!/^[\x21-\x7e\xa1-\xff]+$/.test(key)) {
    throw new UsageError(
      `${label} holds a character that no API key has (a space, a line break, or beyond Latin-1).`,
    );
  }
  return key;
}

/** The key that applies. @throws AuthRequiredError if there is none */
export function requireApiKey(setting: { value: string; label: string } | undefined): string {
  if (setting) return checkApiKey(setting.value, setting.label);
  throw new AuthRequiredError("No API key is set.", {
    hint: (names) => `${names.setApiKey}\nTo try without an account, free of charge, ${names.trySandbox}.`,
  });
}

/**
 * The service's address without a slash at its end. Plain http: is for this machine alone, because the key
 * travels with every request. @throws UsageError
 */
export function checkBaseUrl(text: string, label: string): string {
  if (!URL.canParse(text)) throw new UsageError(`${label} ${JSON.stringify(text)} is not a URL.`);
  const url = new URL(text);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(url.hostname))) {
    throw new UsageError(`${label} must begin with https:// (plain http: only for this machine itself).`, {
      hint: "The API key travels with every request, so it is never sent unencrypted.",
    });
  }
  if (url.username || url.password || /[?#]/.test(text)) {
    throw new UsageError(`${label} must be a plain address, with no user name, query or fragment in it.`);
  }
  return url.href.replace(/\/+$/, "");
}

/** The base URL that applies. @throws UsageError if there is none */
export function requireBaseUrl(setting: { value: string; label: string } | undefined): string {
  if (setting) return checkBaseUrl(setting.value, setting.label);
  throw new UsageError("No base URL is set, and the service has no default one.", {
    hint: (names) => `${names.setBaseUrl}\nTo try without an account, free of charge, ${names.trySandbox}.`,
  });
}

/** The configured service and key. @throws UsageError without a base URL, AuthRequiredError without a key */
export async function configuredService({
  settings,
}: {
  settings: Pick<EffectiveSettings, "get">;
}): Promise<{ baseUrl: string; apiKey: string }> {
  const baseUrl = requireBaseUrl(await settings.get("baseUrl"));
  return { baseUrl, apiKey: requireApiKey(await settings.get("apiKey")) };
}
