import { type ImageHead, imageHead } from "../../api/image-head.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { redactUrl } from "../../lib/redact.ts";
import { option, phrase } from "../../lib/wording.ts";
import { InvalidRequestError } from "../../models/invalid-request.ts";
import type { TaskDeps } from "../engine/deps.ts";

/**
 * Checks types and sizes with HEAD requests.
 * @returns warnings about images that could not be checked
 * @throws InvalidRequestError for the first unusable image, InterruptedError
 */
export async function checkUrls(
  urls: readonly string[],
  label: string,
  { connection, signal, clock }: Pick<TaskDeps, "connection" | "signal" | "clock">,
): Promise<string[]> {
  const { downloads: http, serviceUrl } = connection;
  const uniqueUrls = [...new Set(urls)];
  const checks = uniqueUrls.map(
    (url) => expiredHead(url, clock.now()) ?? imageHead(url, { http, serviceUrl, signal }),
  );
  const heads = await Promise.all(checks).catch((error) => {
    throw signal.aborted ? interruptedError(signal, "no") : error;
  });
  return heads.flatMap((head, index) => headWarnings(`${label} ${redactUrl(uniqueUrls[index] ?? "")}`, head));
}

/** Checks the expiry in the URL itself, because a HEAD request also fails if the signature is valid only for GET. */
function expiredHead(url: string, nowMs: number): ImageHead | null {
  const expiryMs = URL.canParse(url) ? signedUntilMs(url) : null;
  return expiryMs !== null && expiryMs <= nowMs ? { kind: "bad", why: "its signature has expired" } : null;
}

function headWarnings(image: string, head: ImageHead): string[] {
  if (head.kind === "good") return [];
  if (head.kind === "unknown") return [`${image} was not checked: ${head.why}.`];
  throw new InvalidRequestError(`${image} is not an image that the service can use: ${head.why}.`, {
    hint: [
      "Nothing was charged. Give another URL.",
      phrase`To send it unchecked, omit ${option("checkImages")}.`,
      phrase`If the URL comes from an upload, ${option("uploadCache")} uploads the file again.`,
    ],
  });
}

/** Time of a signature at Amazon and Google, such as `20261122T124500Z`. */
const COMPACT_TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Returns the expiry of a signed URL (S3, Google, CloudFront, Azure) in milliseconds since the epoch, or null. */
export function signedUntilMs(url: string): number | null {
  const query = new Map([...new URL(url).searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  for (const vendor of ["amz", "goog"]) {
    const signedMs = timeMs(
      (query.get(`x-${vendor}-date`) ?? "").replace(COMPACT_TIME, "$1-$2-$3T$4:$5:$6Z"),
    );
    const seconds = Number(query.get(`x-${vendor}-expires`) ?? Number.NaN);
    if (signedMs !== null && Number.isFinite(seconds)) return signedMs + seconds * 1000;
  }
  const expires = query.get("expires") ?? "";
  if (/^\d{9,11}$/.test(expires)) return Number(expires) * 1000;
  return query.has("sig") ? timeMs(query.get("se") ?? "") : null;
}

function timeMs(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
