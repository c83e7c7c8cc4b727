/** The key that `imggen sandbox` prints: its account has a subscription. */
export const SANDBOX_KEY = "sk-sandbox";

/** The key of the one account without a subscription. */
export const SANDBOX_BASIC_KEY = "sk-sandbox-basic";

/**
 * The key of an Authorization header (section 5), or null if it is missing or malformed. Every key with the prefix has an
 * account here, so a key is wrong only without it.
 */
export function keyOf(authorization: string | null): string | null {
  return /^Bearer +(sk-\S+)$/.exec(authorization ?? "")?.[1] ?? null;
}
