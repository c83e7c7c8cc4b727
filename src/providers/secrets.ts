import { keyMasker } from "../lib/redact.ts";

/** A shorter value of a header is not a secret but a version, say, and hiding it would hide words too. */
const SHORTEST_VALUE = 8;
const SHORTEST_PASSWORD = 4;

/**
 * Hides the key and the values of the user's headers in a text that people read: in the forms in which a server may
 * repeat them, too. What is fetched, such as the URL of an image, must stay as it is.
 */
export function secretsMasker(
  key: string | null,
  headers: Readonly<Record<string, string>>,
): (text: string) => string {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(" ")]);
  const ofHeaders = values.filter((value) => value.length >= SHORTEST_VALUE);
  const secrets = new Set([...(key === null ? [] : formsOf(key)), ...ofHeaders]);
  const maskers = [...secrets].map(keyMasker);
  return (text) => maskers.reduce((masked, mask) => mask(masked), text);
}

/** A key as it is; one that is `user:password` as the header has it as well, and its password alone. */
function formsOf(key: string): string[] {
  const colon = key.indexOf(":");
  if (colon === -1) return [key];
  const password = key.slice(colon + 1);
  const basic = Buffer.from(key).toString("base64").replace(/=+$/, "");
  return [key, basic, ...(password.length < SHORTEST_PASSWORD ? [] : [password])];
}
