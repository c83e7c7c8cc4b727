/** `20261122T124500Z`, as Amazon and Google write the time of a signature. */
const COMPACT_TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/**
 * Until when a signed URL is valid at most, as its own query says, in ms since the epoch; null if it does not say. Known are
 * the forms of S3 and what is compatible with it, of Google, of CloudFront, and of Azure.
 */
export function signedUntilMs(url: string): number | null {
  const query = new Map([...new URL(url).searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  for (const vendor of ["amz", "goog"]) {
    const from = timeMs((query.get(`x-${vendor}-date`) ?? "").replace(COMPACT_TIME, "$1-$2-$3T$4:$5:$6Z"));
    const seconds = Number(query.get(`x-${vendor}-expires`) ?? Number.NaN);
    if (from !== null && Number.isFinite(seconds)) return from + seconds * 1000;
  }
  const expires = query.get("expires") ?? "";
  if (/^\d{9,11}$/.test(expires)) return Number(expires) * 1000;
  return query.has("sig") ? timeMs(query.get("se") ?? "") : null;
}

/** Whether a URL was signed with temporary credentials: it ends with them, at a time that it does not say. */
export function isSignedTemporarily(url: string): boolean {
  return [...new URL(url).searchParams.keys()].some((name) => /^x-(?:amz|goog)-security-token$/i.test(name));
}

function timeMs(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
