import { ImggenError } from "../lib/error-types.ts";
import { keyFingerprint } from "../lib/fingerprint.ts";
import { readSettings, settingsFile } from "../store/settings-file.ts";
import type { ServiceIdentity } from "../task/intent.ts";
import { checkApiKey, checkBaseUrl } from "./account.ts";
import { settingsFolders } from "./profiles.ts";

/** The stored account that a task belongs to, of whichever profile; null if none is stored. */
export function storedAccount(
  { baseUrl, keyId }: ServiceIdentity,
  configFolder: string,
): { baseUrl: string; apiKey: string } | null {
  for (const folder of settingsFolders(configFolder)) {
    const account = accountIn(folder);
    if (account?.baseUrl === baseUrl && keyFingerprint(account.apiKey) === keyId) return account;
  }
  return null;
}

function accountIn(folder: string): { baseUrl: string; apiKey: string } | null {
  try {
    const { apiKeyBaseUrl: baseUrl, apiKey } = readSettings(settingsFile(folder));
    if (baseUrl === undefined || apiKey === undefined) return null;
    return { baseUrl: checkBaseUrl(baseUrl, "baseUrl"), apiKey: checkApiKey(apiKey, "apiKey") };
  } catch (error) {
    // A damaged file of another profile is reported when that profile is used.
    if (error instanceof ImggenError) return null;
    throw error;
  }
}
