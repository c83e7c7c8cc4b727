import { isLoopbackHost } from "../api/address.ts";
import { AuthRequiredError } from "../api/api-errors.ts";
import { UsageError } from "../lib/error-types.ts";
import { hasControlCharacter } from "../lib/late-regex.ts";
import { removeApiPath } from "../lib/operation-path.ts";
import { refuseQuerySecret } from "../lib/query-secret.ts";
import { shellWord } from "../lib/shell-word.ts";
import { action, phrase } from "../lib/wording.ts";
import type { EffectiveSettings } from "./effective-settings.ts";

/** Invisible characters in pasted keys: no-break and zero-width spaces, direction marks. */
const INVISIBLE = "[\\u00a0\\u00ad\\u200b-\\u200f\\u202a-\\u202f\\u2060-\\u2064\\u2066-\\u2069\\ufeff]";
const INVISIBLE_ENDS = new RegExp(`^${INVISIBLE}+|${INVISIBLE}+$`, "g");

/** @throws UsageError for an invisible character inside the key */
function trimInvisibleCharacters(input: string, label: string): string {
  const key = input.replace(INVISIBLE_ENDS, "");
  if (!new RegExp(INVISIBLE).test(key)) return key;
  throw new UsageError(`${label} contains an invisible character (a no-break or zero-width space).`, {
    hint: "Nothing was sent. Copy the key again.",
  });
}

/** Checks an API key of the service (section 5 of the service's document). @throws UsageError */
export function checkApiKey(input: string, label: string): string {
  const key = trimInvisibleCharacters(input, label);
  refuseWrapped(key, label);
  if (!key.startsWith("sk-") || key.length === 3) {
    throw new UsageError(`${label} is not an API key: keys begin with "sk-".`);
  }
  if (!/^[\x21-\x7e\xa1-\xff]+$/.test(key)) {
    throw new UsageError(
      `${label} contains a character that no API key has (a space, a line break, or one beyond Latin-1).`,
    );
  }
  return key;
}

/** Refuses a key pasted with other text: a header's name, quotes, a variable's name. @throws UsageError */
function refuseWrapped(key: string, label: string): void {
  if (/^(?:authorization\s*:|bearer\s|basic\s)/i.test(key))
    throw new UsageError(`${label} is a whole header: give the key alone, without the words before it.`);
  if (/^["'`“”„‘’‚«].*["'`“”‘’»]$/su.test(key))
    throw new UsageError(`${label} has quotes around it: give the key without them.`);
  if (/^[A-Za-z_]\w*=\s*sk-/.test(key))
    throw new UsageError(`${label} begins with the name of a variable: give the key alone.`);
}

const TRY_SANDBOX = phrase`\nTo try without an account, free of charge, ${action("trySandbox")}.`;

/** Checks that a key can be sent in a header. @throws UsageError */
export function checkSecret(input: string, label: string): string {
  const key = trimInvisibleCharacters(input, label);
  refuseWrapped(key, label);
  if (key !== "" && /^[\x20-\x7e\xa1-\xff]+$/.test(key) && key.trim() === key) return key;
  throw new UsageError(
    `${label} cannot be sent: it is empty, or contains a line break or a character beyond Latin-1.`,
  );
}

/**
 * Checks a key or a login `user:password`. A login is sent in Base64, so only its control characters are refused.
 * @throws UsageError
 */
export function checkGeneratorKey(input: string, label: string, hasLogin: boolean): string {
  const key = trimInvisibleCharacters(input, label);
  if (!hasLogin || !key.includes(":")) return checkSecret(key, label);
  refuseWrapped(key, label);
  if (!hasControlCharacter(key) && key.isWellFormed()) return key;
  throw new UsageError(`${label} cannot be sent: it contains a line break or another control character.`);
}

/** @throws AuthRequiredError if no key is set */
export function requireApiKey(setting: { value: string; label: string } | undefined): string {
  if (setting) return checkApiKey(setting.value, setting.label);
  throw new AuthRequiredError("No API key is set.", {
    hint: [phrase`${action("setApiKey")}`, TRY_SANDBOX],
  });
}

/** Refuses `http:` for other machines, because each request contains the key. @throws UsageError */
export function checkBaseUrl(text: string, label: string): string {
  refuseQuerySecret(text, label, phrase`Set IMGGEN_API_KEY, or store the key: ${action("run", "login")}`);
  const completeUrl = withScheme(text);
  if (completeUrl !== null || !URL.canParse(text))
    throw new UsageError(`${label} ${JSON.stringify(text)} is not a URL.`, {
      hint: completeUrl === null ? undefined : `Did you mean ${completeUrl}?`,
    });
  const url = new URL(text);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(url.hostname))) {
    const generatorHint = /\/v1\/*$/.test(url.pathname)
      ? phrase`\nFor an address in OpenAI's style: ${action("run", `login --generator ${shellWord(text)}`)}`
      : "";
    throw new UsageError(`${label} must begin with https:// (http: only for this machine).`, {
      hint: ["Each request contains the API key, so it is never sent unencrypted.", generatorHint],
    });
  }
  if (url.username || url.password || /[?#]/.test(text)) {
    throw new UsageError(`${label} must be a plain address, with no user name, query or fragment in it.`);
  }
  refuseEndpoint(text, label);
  return normalizeBaseUrl(text);
}

/** Refuses a URL that ends with the path of an operation. @throws UsageError */
function refuseEndpoint(text: string, label: string): void {
  const serviceUrl = text.replace(/\/generate-image\/*$/i, "");
  if (serviceUrl !== text)
    throw new UsageError(`${label} ends with an operation of the service.`, {
      hint: `Did you mean ${serviceUrl}?`,
    });
  const generatorUrl = removeApiPath(text);
  if (generatorUrl !== text)
    throw new UsageError(`${label} is an address in OpenAI's style, not the service's.`, {
      hint: phrase`To use it: ${action("run", `login --generator ${shellWord(generatorUrl)}`)}`,
    });
}

/** Adds the scheme to an address such as `example.com/api`; null for other texts. */
export function withScheme(text: string): string | null {
  if (!/^[a-z0-9.-]*[a-z0-9](:\d+)?(\/|$)/i.test(text) || !URL.canParse(`https://${text}`)) return null;
  const { hostname } = new URL(`https://${text}`);
  if (isLoopbackHost(hostname)) return `http://${text}`;
  return hostname.includes(".") ? `https://${text}` : null;
}

/** @throws UsageError if no base URL is set */
export function requireBaseUrl(setting: { value: string; label: string } | undefined): string {
  if (setting) return checkBaseUrl(setting.value, setting.label);
  throw new UsageError("No base URL is set, and the service has no default URL.", {
    hint: [phrase`${action("setBaseUrl")}`, TRY_SANDBOX],
  });
}

/** @throws UsageError if no base URL is set, AuthRequiredError if no key is set */
export function configuredService(settings: Pick<EffectiveSettings, "get">): {
  baseUrl: string;
  apiKey: string;
} {
  const setting = settings.get("baseUrl");
  const baseUrl = requireBaseUrl(setting);
  return { baseUrl, apiKey: apiKeyFor({ value: baseUrl, label: setting?.label ?? "" }, settings) };
}

/**
 * Returns the key for a base URL. A stored key is sent only to the URL that the key was stored with, because
 * otherwise a project's `.env` could send the key to another server.
 * @throws UsageError, AuthRequiredError if no key is set
 */
export function apiKeyFor(
  { value: baseUrl, label }: { value: string; label: string },
  settings: Pick<EffectiveSettings, "get">,
): string {
  const setting = settings.get("apiKey");
  const key = requireApiKey(setting);
  if (setting?.source !== "config") return key;
  const keyBaseUrl = settings.get("apiKeyBaseUrl")?.value;
  if (keyBaseUrl !== undefined && normalizeBaseUrl(keyBaseUrl) === normalizeBaseUrl(baseUrl)) return key;
  const configuredText = `${normalizeBaseUrl(baseUrl)} is configured (${label})`;
  if (keyBaseUrl === undefined)
    throw new UsageError(`The API key was stored without a base URL, and ${configuredText}.`, {
      hint: phrase`To store it for this service: ${action("run", `login --base-url ${shellWord(baseUrl)}`)}`,
    });
  throw new UsageError(
    `The stored API key belongs to ${normalizeBaseUrl(keyBaseUrl)}, and ${configuredText}.`,
    {
      hint: ["Nothing was sent. Each service needs its own key.", phrase`${action("setApiKey")}`],
    },
  );
}

export function normalizeBaseUrl(baseUrl: string): string {
  return (URL.canParse(baseUrl) ? new URL(baseUrl).href : baseUrl).replace(/\/+$/, "");
}
